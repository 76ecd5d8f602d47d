#include "optimize/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "propose/schedule_proposer.h"
#include "support/rng.h"
#include "translate/translate.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Small generations: of sixty candidates each should learn from the ones before. Two islands, so
// that the first good idea is not the only one.
EvolutionSettings SettingsOf(const OptimizeOptions& options) {
  EvolutionSettings settings;
  settings.seed = options.request.seed;
  settings.islands = 2;
  settings.batch = 4;
  settings.members = 8;
  settings.elite_share = 0.25;
  settings.crossover = 0.25;
  settings.migrate_every = 3;
  return settings;
}

json ContextOf(const OptimizeOptions& options, const OptimizeTarget& target) {
  return {{"task_path", target.task.path.string()},
          {"direction", Name(options.request.direction)},
          {"dtype", options.request.dtype},
          {"mode", target.task.mode},
          {"allow", options.request.allow},
          {"gpu", options.request.gpu->key},
          {"configuration", target.timed->configuration.name},
          {"blocks", options.request.blocks},
          {"search", options.search},
          {"seed", options.request.seed}};
}

fs::path ArchiveFile(const fs::path& output) { return output / "archive.db"; }

// The newest run; an error if there is none.
Result<ArchivedRun> NewestRun(const Archive& archive, const fs::path& output) {
  KS_TRY(const std::vector<ArchivedRun> runs, archive.Runs());
  if (runs.empty() || !runs.front().options.contains("context")) {
    return InvalidInput(fmt::format("{} has no run to go on with", output.string()));
  }
  return runs.front();
}

}  // namespace

Result<OptimizeOptions> StoredOptions(const fs::path& output) {
  std::error_code ignored;
  if (!fs::exists(ArchiveFile(output), ignored)) {
    return InvalidInput(fmt::format("{} has no run to go on with", output.string()));
  }
  KS_TRY(const std::unique_ptr<Archive> archive,
         Archive::Open(ArchiveFile(output), {.read_only = true}));
  KS_TRY(const ArchivedRun run, NewestRun(*archive, output));
  const json& context = run.options["context"];
  OptimizeOptions options;
  options.output = output;
  options.request.direction =
      run.direction == "backward" ? TaskDirection::kBackward : TaskDirection::kForward;
  options.request.dtype = context.value("dtype", "task");
  options.request.allow = context.value("allow", std::vector<std::string>{});
  options.request.configuration = context.value("configuration", "");
  options.request.blocks = context.value("blocks", options.request.blocks);
  options.request.seed = run.seed;
  options.search = context.value("search", "evolution");
  KS_TRY(options.request.gpu, FindGpuModel(context.value("gpu", "")));
  return options;
}

Result<std::unique_ptr<Optimization>> Optimization::Prepare(const Task& task,
                                                            const OptimizeOptions& options,
                                                            const OptimizeTools& tools,
                                                            std::vector<Proposer*> more,
                                                            Filters filters) {
  std::unique_ptr<Optimization> made(new Optimization(tools));
  made->options_ = options;
  const TaskDirection direction = options.request.direction;
  if (std::find(task.directions.begin(), task.directions.end(), direction) ==
      task.directions.end()) {
    return InvalidInput(fmt::format("task {} has no {} pass", task.name, Name(direction)));
  }
  KS_RETURN_IF_ERROR(tools.files.MakeDirectories(options.output));
  KS_TRY(made->target_,
         MakeOptimizeTarget(
             task, options.request,
             options.scratch.empty() ? options.output / "candidates" : options.scratch, tools));
  Result<codegen::Model> model =
      ModelOf(tools.tasks, task, {.direction = direction, .dtype = options.request.dtype});
  if (model.ok()) {
    made->model_ = *std::move(model);
    const ScheduleSpace space = SpaceOf(*made->model_);
    const bool evolves = options.search != "random";
    if (evolves) made->own_.push_back(std::make_unique<MutateScheduleProposer>(space));
    made->own_.push_back(std::make_unique<RandomScheduleProposer>(space, /*guided=*/evolves));
  } else if (model.error().kind() == ErrorKind::kUnsupported && !more.empty()) {
    made->untranslated_ = model.error().message();
  } else {
    return model.error();
  }
  for (const auto& each : made->own_) made->proposers_.push_back(each.get());
  made->proposers_.insert(made->proposers_.end(), more.begin(), more.end());
  made->cascade_ = MakeCascade(made->target_, made->pool_);
  made->cascade_.insert(made->cascade_.begin() + 1, std::make_move_iterator(filters.begin()),
                        std::make_move_iterator(filters.end()));
  KS_TRY(made->archive_, Archive::Open(ArchiveFile(options.output)));
  return made;
}

Result<std::unique_ptr<Optimization>> Optimization::Make(const Task& task,
                                                         const OptimizeOptions& options,
                                                         const OptimizeTools& tools,
                                                         std::vector<Proposer*> more,
                                                         Filters filters) {
  // Before anything expensive.
  if (StoredOptions(options.output).ok()) {
    return InvalidInput(
        fmt::format("{} has a run already: --resume goes on with it, another --output begins anew",
                    options.output.string()));
  }
  KS_TRY(std::unique_ptr<Optimization> made,
         Prepare(task, options, tools, std::move(more), std::move(filters)));
  std::vector<std::string> initial;
  if (made->model_) {
    KS_TRY(std::string source, codegen::EmitCandidate(*made->model_));
    initial.push_back(std::move(source));
  }
  initial.insert(initial.end(), options.start.begin(), options.start.end());
  KS_TRY(made->evolution_, Evolution::Start(made->Parts(),
                                            {.task = task.name,
                                             .direction = Name(options.request.direction),
                                             .dtype = options.request.dtype,
                                             .context = ContextOf(options, made->target_)},
                                            SettingsOf(options), options.budget, initial));
  return made;
}

Result<std::unique_ptr<Optimization>> Optimization::Resume(const Task& task,
                                                           const OptimizeOptions& options,
                                                           const OptimizeTools& tools,
                                                           std::vector<Proposer*> more,
                                                           Filters filters) {
  KS_RETURN_IF_ERROR(StoredOptions(options.output));
  KS_TRY(std::unique_ptr<Optimization> made,
         Prepare(task, options, tools, std::move(more), std::move(filters)));
  KS_TRY(const ArchivedRun run, NewestRun(*made->archive_, options.output));
  const json now = ContextOf(options, made->target_);
  for (const auto& [name, value] : run.options["context"].items()) {
    if (!now.contains(name) || now[name] == value) continue;
    return InvalidInput(fmt::format("the run in {} has {} {}, not {}: it can't go on with another",
                                    options.output.string(), name, value.dump(), now[name].dump()));
  }
  KS_TRY(made->earlier_,
         made->archive_->List({.run = run.id, .order = ArchiveFilter::Order::kNumber}));
  KS_TRY(made->evolution_, Evolution::Resume(made->Parts(), run.id, options.budget));
  return made;
}

Result<OptimizeResult> Optimization::Run(
    const std::function<void(const ArchivedCandidate&)>& watch) {
  KS_TRY(EvolutionReport report, evolution_->Run(options_.jobs, watch));
  return Conclude(std::move(report));
}

Result<OptimizeResult> Optimization::Conclude(EvolutionReport report) {
  OptimizeResult result;
  KS_TRY(result.candidates,
         archive_->List({.run = report.run, .order = ArchiveFilter::Order::kNumber}));
  std::vector<const ArchivedCandidate*> verified;
  for (const ArchivedCandidate& each : result.candidates) {
    if (each.verified() && each.time_ns) verified.push_back(&each);
  }
  if (verified.empty()) {
    if (result.candidates.empty()) {
      return Error(ErrorKind::kTimeout, "the run ended before its first candidate was judged");
    }
    const ArchivedCandidate& first = result.candidates.front();
    return Unsupported(
        fmt::format("nothing was verified; the first candidate is {} by stage {}: {}",
                    first.verdict, first.stage, first.reason));
  }
  result.first = *verified.front();
  std::sort(verified.begin(), verified.end(),
            [](const ArchivedCandidate* a, const ArchivedCandidate* b) {
              return *a->time_ns != *b->time_ns ? *a->time_ns < *b->time_ns : a->number < b->number;
            });
  result.best = *verified.front();
  // Who was chosen among many by the same data may fit these data by chance.
  if (report.ended_by != "stopped") {
    for (const ArchivedCandidate* each : verified) {
      // PyTorch's own draws stay (see VerifyOptions::seed), all others are new.
      const uint64_t seed = (target_.verify_seed >> 32 << 32) | (RandomSeed() & 0xffffffff);
      KS_TRY(Verdict verdict, VerifyWhole(target_, pool_, each->source, seed));
      if (verdict.kind == VerdictKind::kVerified) {
        result.best = *each;
        result.confirmed = std::move(verdict);
        break;
      }
      const Finding* finding = verdict.Deciding();
      result.withdrawn.push_back(fmt::format("candidate {}: {} with seed {}: {}",
                                             each->number.value_or(-1), Name(verdict.kind),
                                             verdict.seed, finding ? finding->message : ""));
    }
    if (!result.confirmed) {
      return Unsupported(
          fmt::format("no candidate was verified on fresh data: {}", result.withdrawn.front()));
    }
  }
  KS_TRY(result.lineage, archive_->Ancestors(result.best.id));
  result.lineage.push_back(result.best);
  std::sort(result.lineage.begin(), result.lineage.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
  result.why = Explain(result.first, result.best);
  const bool scheduled = result.best.genes.is_object() && result.best.genes.contains("genes");
  if (model_ && scheduled) {
    const ScheduleSpace space = SpaceOf(*model_);
    result.changes = Difference(Complete(space, {}), ScheduleOf(space, result.best));
  }
  result.report = std::move(report);
  const CandidateCounter& counter = pool_.counter();
  result.work = {.candidates = counter.compiled,
                 .traced = counter.traced,
                 .repeated = counter.repeated,
                 .traced_seconds = static_cast<double>(counter.traced_ns) * 1e-9,
                 .spared_seconds = static_cast<double>(counter.spared_ns) * 1e-9};
  return result;
}

json ToJson(const OptimizeResult& result, const OptimizeTarget& target) {
  json lineage = json::array();
  for (const ArchivedCandidate& each : result.lineage) {
    lineage.push_back({{"id", each.id},
                       {"number", each.number.value_or(-1)},
                       {"us", each.time_ns.value_or(0) * 1e-3},
                       {"proposer", each.proposer},
                       {"note", each.note},
                       {"parents", each.parents}});
  }
  std::map<std::string, std::map<std::string, int>> stages;
  for (const ArchivedCandidate& each : result.candidates) ++stages[each.stage][each.verdict];
  json proposers = json::array();
  for (const ProposerRecord& each : result.report.proposers) {
    proposers.push_back({{"name", each.name},
                         {"asked", each.asked},
                         {"verified", each.verified},
                         {"reward", each.reward}});
  }
  const double eager = target.eager.seconds;
  json document = {
      {"kind", "estimated"},
      {"task", target.task.name},
      {"direction", Name(target.request.direction)},
      {"dtype", target.request.dtype},
      {"mode", target.task.mode},
      {"gpu", target.request.gpu->key},
      {"configuration", target.timed->configuration.name},
      {"seed", target.request.seed},
      {"run", result.report.run},
      {"ended_by", result.report.ended_by},
      {"candidates", result.report.candidates},
      {"seconds", result.report.seconds},
      {"verdicts", result.report.verdicts},
      {"stages", stages},
      {"proposers", std::move(proposers)},
      {"fingerprint", result.report.fingerprint},
      {"first",
       {{"number", result.first.number.value_or(-1)}, {"us", result.first_seconds() * 1e6}}},
      {"best", {{"number", result.best.number.value_or(-1)}, {"us", result.best_seconds() * 1e6}}},
      {"eager_us", eager * 1e6},
      {"floor_us", target.floor_seconds * 1e6},
      {"speedup_over_first", result.first_seconds() / result.best_seconds()},
      {"speedup_over_eager", eager / result.best_seconds()},
      {"why", ToJson(result.why)},
      {"changes", result.changes},
      {"tracing",
       {{"candidates", result.work.candidates},
        {"calls_traced", result.work.traced},
        {"calls_repeated", result.work.repeated},
        {"traced_seconds", result.work.traced_seconds},
        {"spared_seconds", result.work.spared_seconds}}},
      {"lineage", std::move(lineage)},
      {"withdrawn", result.withdrawn}};
  document["confirmed"] =
      result.confirmed
          ? json({{"verdict", Name(result.confirmed->kind)}, {"seed", result.confirmed->seed}})
          : json("the run was interrupted");
  return document;
}

OptimizePage PageOf(const OptimizeResult& result, const OptimizeTarget& target) {
  OptimizePage page{.task = target.task.name,
                    .direction = Name(target.request.direction),
                    .dtype = target.request.dtype,
                    .configuration = target.timed->configuration.name,
                    .gpu = target.request.gpu,
                    .seed = target.request.seed,
                    .eager_seconds = target.eager.seconds,
                    .floor_seconds = target.floor_seconds,
                    .candidates = result.candidates,
                    .first = result.first.number.value_or(-1),
                    .best = result.best.number.value_or(-1),
                    .reasons = result.why.reasons,
                    .changes = result.changes,
                    .ended_by = result.report.ended_by,
                    .seconds = result.report.seconds};
  for (const ArchivedCandidate& each : result.lineage) {
    page.lineage.push_back(each.number.value_or(-1));
  }
  for (const Explanation::Row& row : result.why.counters) {
    page.counters.push_back({row.name, row.before_text, row.after_text});
  }
  for (const auto& [name, candidate] :
       {std::pair("first", &result.first), std::pair("best", &result.best)}) {
    const RooflinePoint point = RooflineOf(*candidate);
    page.roofline.push_back({name, point.flops, point.dram_bytes, point.device_seconds});
  }
  page.confirmed =
      result.confirmed
          ? fmt::format(
                "The best was verified once more on data that nothing was chosen by (seed {})",
                result.confirmed->seed)
          : "The run was interrupted; the best is verified on the data of the run";
  for (const std::string& line : result.withdrawn) page.confirmed += "; withdrawn: " + line;
  return page;
}

}  // namespace kernelsmith
