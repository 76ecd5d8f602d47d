// `kernelsmith archive`: every candidate that was evaluated, with what is known about it.
#include "archive/archive.h"

#include <fmt/format.h>

#include "archive/line_diff.h"
#include "cli/archive_place.h"
#include "cli/commands.h"
#include "measure/plan_estimate.h"
#include "support/finding_kind.h"
#include "support/hash.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Options {
  std::string archive;
  std::string task;
  std::string verdict;
  std::optional<int64_t> run;
  std::string order = "best";
  int64_t limit = 20;
  std::vector<int64_t> ids;
  std::vector<std::string> reports;
  std::string source;
  std::string folder;
};

Result<std::unique_ptr<Archive>> OpenArchive(const Session& session, const Options& options,
                                             bool read_only) {
  return Archive::Open(ArchivePlace(session, options.archive), {.read_only = read_only});
}

ArchiveFilter FilterOf(const Options& options) {
  return {.task = options.task,
          .verdict = options.verdict,
          .run = options.run,
          .order = options.order == "newest" ? ArchiveFilter::Order::kNewest
                                             : ArchiveFilter::Order::kBest,
          .limit = options.limit > 0 ? options.limit : -1};
}

std::string TimeText(const ArchivedCandidate& candidate) {
  if (!candidate.time_ns) return "-";
  const double ns = *candidate.time_ns;
  const std::string number = ns >= 1e6   ? fmt::format("{:.3f} ms", ns / 1e6)
                             : ns >= 1e3 ? fmt::format("{:.2f} us", ns / 1e3)
                                         : fmt::format("{:.0f} ns", ns);
  return fmt::format("{} {}", number, candidate.time_kind);
}

const char* ColorOf(const std::string& verdict) {
  if (verdict == "verified") return "32";
  return verdict == "refuted" ? "31" : "33";
}

std::string FirstLine(const std::string& text) {
  return EscapeForTerminal(text.substr(0, text.find('\n')));
}

Result<ExitCode> ListCandidates(Session& session, const Options& options) {
  KS_TRY(const std::unique_ptr<Archive> archive, OpenArchive(session, options, true));
  KS_TRY(const std::vector<ArchivedCandidate> found, archive->List(FilterOf(options)));
  if (session.json) {
    json list = json::array();
    for (const ArchivedCandidate& each : found) {
      json row = ToJson(each);
      // The long texts are in `show` and `export`.
      for (const char* name : {"source", "prompt", "answer", "counters"}) row.erase(name);
      list.push_back(std::move(row));
    }
    session.PrintJson({{"candidates", std::move(list)}});
    return kExitOk;
  }
  if (found.empty()) {
    session.out << "no candidates\n";
    return kExitOk;
  }
  session.out << fmt::format("{:>6} {:>4}  {:<12}  {:<22}  {:<32}  {}\n", "id", "run", "verdict",
                             "time", "task", "proposer");
  for (const ArchivedCandidate& each : found) {
    const std::string task = fmt::format("{} {} {}", each.task, each.direction, each.dtype);
    const std::string& note = each.verified() ? each.note : each.reason;
    session.out << fmt::format(
        "{:>6} {:>4}  {}  {:<22}  {:<32}  {}{}\n", each.id,
        each.run ? std::to_string(*each.run) : "-",
        session.Paint(ColorOf(each.verdict), fmt::format("{:<12}", each.verdict)), TimeText(each),
        EscapeForTerminal(task), EscapeForTerminal(each.proposer),
        note.empty() ? "" : ": " + FirstLine(note));
  }
  return kExitOk;
}

Result<ExitCode> ListRuns(Session& session, const Options& options) {
  KS_TRY(const std::unique_ptr<Archive> archive, OpenArchive(session, options, true));
  KS_TRY(const std::vector<ArchivedRun> runs, archive->Runs());
  if (session.json) {
    json list = json::array();
    for (const ArchivedRun& run : runs) list.push_back(ToJson(run));
    session.PrintJson({{"runs", std::move(list)}});
    return kExitOk;
  }
  if (runs.empty()) session.out << "no runs\n";
  for (const ArchivedRun& run : runs) {
    session.out << fmt::format("{:>4}  {:<9} {} ({}, {}), seed {}, {:.0f} s, since {}\n", run.id,
                               run.state, EscapeForTerminal(run.task),
                               EscapeForTerminal(run.direction), EscapeForTerminal(run.dtype),
                               run.seed, run.seconds, run.started_at);
  }
  return kExitOk;
}

std::string FindingText(const json& finding) {
  const auto text = [&](const char* name) {
    return finding.is_object() && finding.contains(name) && finding[name].is_string()
               ? finding[name].get<std::string>()
               : std::string();
  };
  std::string line = CurrentWord(text("kind"));
  const std::string message = text("message");
  if (!message.empty()) line += (line.empty() ? "" : ": ") + message;
  if (finding.is_object() && finding.contains("line") && finding["line"].is_number_integer()) {
    line += fmt::format(" (line {})", finding["line"].get<int64_t>());
  }
  return EscapeForTerminal(line.empty() ? finding.dump() : line);
}

void PrintText(Session& session, const std::string& text, const char* indent) {
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    session.out << indent << EscapeForTerminal(text.substr(begin, end - begin)) << '\n';
    begin = end + 1;
  }
}

Result<ExitCode> Show(Session& session, const Options& options) {
  KS_TRY(const std::unique_ptr<Archive> archive, OpenArchive(session, options, true));
  KS_TRY(const ArchivedCandidate candidate, archive->Get(options.ids.front()));
  KS_TRY(const std::vector<ArchivedCandidate> ancestors, archive->Ancestors(candidate.id));
  if (session.json) {
    json document = ToJson(candidate);
    json line = json::array();
    for (const ArchivedCandidate& each : ancestors) {
      json row = ToJson(each);
      for (const char* name : {"source", "prompt", "answer", "counters"}) row.erase(name);
      line.push_back(std::move(row));
    }
    document["ancestors"] = std::move(line);
    session.PrintJson(document);
    return kExitOk;
  }
  std::ostream& out = session.out;
  out << fmt::format("{}  candidate {}: {} ({}, {})\n",
                     session.Paint(ColorOf(candidate.verdict), candidate.verdict), candidate.id,
                     EscapeForTerminal(candidate.task), EscapeForTerminal(candidate.direction),
                     EscapeForTerminal(candidate.dtype));
  if (!candidate.reason.empty()) {
    out << fmt::format("  {}: {}\n", EscapeForTerminal(candidate.stage),
                       FirstLine(candidate.reason));
  }
  for (const json& finding : candidate.findings) {
    out << fmt::format("  finding: {}\n", FindingText(finding));
  }
  if (candidate.time_ns) {
    out << fmt::format("  time: {} ({})\n", TimeText(candidate), EscapeForTerminal(candidate.gpu));
  }
  if (!candidate.limits.empty()) {
    out << fmt::format("  limits: {}\n", EscapeForTerminal(StepsText(candidate.limits)));
  }
  out << fmt::format("  by {}{}\n", EscapeForTerminal(candidate.proposer),
                     candidate.note.empty() ? "" : ": " + FirstLine(candidate.note));
  if (!candidate.genes.empty()) {
    out << fmt::format("  genes: {}\n", EscapeForTerminal(candidate.genes.dump()));
  }
  if (candidate.run) {
    out << fmt::format("  run {}, candidate {} of it, generation {}, island {}\n", *candidate.run,
                       candidate.number.value_or(0), candidate.generation, candidate.island);
  }
  if (candidate.tokens_in + candidate.tokens_out > 0 || candidate.dollars > 0) {
    out << fmt::format("  cost: {} + {} tokens, {:.4f} dollars\n", candidate.tokens_in,
                       candidate.tokens_out, candidate.dollars);
  }
  out << fmt::format("  {}, {:.2f} s\n", candidate.created_at, candidate.seconds);
  if (!ancestors.empty()) out << "\nancestors\n";
  for (const ArchivedCandidate& each : ancestors) {
    out << fmt::format("  {:>6}  {:<12}  {:<22}  {}{}\n", each.id, each.verdict, TimeText(each),
                       EscapeForTerminal(each.proposer),
                       each.note.empty() ? "" : ": " + FirstLine(each.note));
  }
  out << "\nsource\n";
  PrintText(session, candidate.source, "  ");
  return kExitOk;
}

Result<ExitCode> Diff(Session& session, const Options& options) {
  KS_TRY(const std::unique_ptr<Archive> archive, OpenArchive(session, options, true));
  KS_TRY(const ArchivedCandidate before, archive->Get(options.ids[0]));
  KS_TRY(const ArchivedCandidate after, archive->Get(options.ids[1]));
  const std::string text = UnifiedDiff(fmt::format("candidate_{}.cu", before.id), before.source,
                                       fmt::format("candidate_{}.cu", after.id), after.source);
  if (session.json) {
    session.PrintJson({{"old", before.id}, {"new", after.id}, {"diff", text}});
  } else if (text.empty()) {
    session.out << "the sources are the same\n";
  } else {
    PrintText(session, text, "");
  }
  return kExitOk;
}

Result<ExitCode> Export(Session& session, const Options& options) {
  KS_TRY(const std::unique_ptr<Archive> archive, OpenArchive(session, options, true));
  KS_TRY(const std::vector<ArchivedCandidate> found, archive->List(FilterOf(options)));
  KS_TRY(const std::vector<ArchivedRun> runs, archive->Runs());
  const fs::path folder = options.folder;
  KS_RETURN_IF_ERROR(session.files.MakeDirectories(folder));
  json list = json::array();
  for (const ArchivedCandidate& each : found) {
    const std::string name = fmt::format("candidate_{}.cu", each.id);
    KS_RETURN_IF_ERROR(session.files.Write(folder / name, each.source));
    json row = ToJson(each);
    row.erase("source");
    row["file"] = name;
    list.push_back(std::move(row));
  }
  json run_list = json::array();
  for (const ArchivedRun& run : runs) run_list.push_back(ToJson(run));
  const json document = {{"candidates", std::move(list)}, {"runs", std::move(run_list)}};
  KS_RETURN_IF_ERROR(
      session.files.Write(folder / "archive.json",
                          document.dump(1, ' ', false, json::error_handler_t::replace) + "\n"));
  if (session.json) {
    session.PrintJson({{"folder", folder.string()}, {"candidates", found.size()}});
  } else {
    session.out << fmt::format("wrote {} candidate{} and archive.json to {}\n", found.size(),
                               found.size() == 1 ? "" : "s", folder.string());
  }
  return kExitOk;
}

// A report of `kernelsmith verify` with the source it is about.
Result<ArchivedCandidate> FromReport(Session& session, const Options& options,
                                     const std::string& file) {
  KS_TRY(const std::string text, session.files.Read(file));
  const json report = json::parse(text, nullptr, false);
  const auto field = [&](const char* name) {
    return report.is_object() && report.contains(name) && report[name].is_string()
               ? report[name].get<std::string>()
               : std::string();
  };
  const auto list = [&](const char* name) {
    return report.is_object() && report.contains(name) && report[name].is_array() ? report[name]
                                                                                  : json::array();
  };
  ArchivedCandidate candidate;
  candidate.verdict = field("verdict");
  candidate.task = field("task");
  const std::string path = options.source.empty() ? field("candidate") : options.source;
  if (candidate.verdict.empty() || candidate.task.empty() || path.empty()) {
    return InvalidInput(fmt::format("{} is no report of `kernelsmith verify`", file));
  }
  KS_TRY(candidate.source, session.files.Read(path));
  if (Sha256(candidate.source) != field("candidate_sha256")) {
    return InvalidInput(
        fmt::format("{} is about another text than {} has now: verify it again", file, path));
  }
  candidate.direction = field("direction");
  candidate.dtype = field("dtype");
  candidate.proposer = "verify";
  candidate.note = fs::path(path).filename().string();
  candidate.findings = list("findings");
  for (const json& finding : candidate.findings) {
    if (!finding.is_object() || finding.value("weight", json()) != "decides") continue;
    candidate.reason = FindingText(finding);
    candidate.stage = finding.contains("stage") && finding["stage"].is_string()
                          ? finding["stage"].get<std::string>()
                          : "";
    break;
  }
  if (report.contains("seconds") && report["seconds"].is_number()) {
    candidate.seconds = report["seconds"].get<double>();
  }
  return candidate;
}

Result<ExitCode> AddReports(Session& session, const Options& options) {
  std::vector<ArchivedCandidate> candidates;
  for (const std::string& file : options.reports) {
    KS_TRY(candidates.emplace_back(), FromReport(session, options, file));
  }
  KS_TRY(const std::unique_ptr<Archive> archive, OpenArchive(session, options, false));
  KS_TRY(const std::vector<ArchivedCandidate> added, archive->AddAll(candidates));
  json ids = json::array();
  for (const ArchivedCandidate& each : added) {
    ids.push_back(each.id);
    if (!session.json) {
      session.out << fmt::format("candidate {}: {} {}\n", each.id, each.verdict,
                                 EscapeForTerminal(each.note));
    }
  }
  if (session.json) session.PrintJson({{"added", std::move(ids)}});
  return kExitOk;
}

void AddFilters(CLI::App& command, Options& options) {
  command.add_option("--task", options.task, "Only candidates of this task");
  command.add_option("--run", options.run, "Only candidates of this run");
  command.add_option("--verdict", options.verdict, "Only candidates with this verdict")
      ->check(CLI::IsMember(
          {"verified", "refuted", "inconclusive", "unsupported", "rejected", "none"}));
  command.add_option("--order", options.order, "The best of each task first, or the newest")
      ->check(CLI::IsMember({"best", "newest"}))
      ->capture_default_str();
}

}  // namespace

std::string ArchivePlace(const Session& session, const std::string& option) {
  return option.empty() ? (session.settings.folders.UserData() / "archive.db").string() : option;
}

void AddArchive(CLI::App& app, Session& session) {
  CLI::App* archive = app.add_subcommand(
      "archive", "All candidates that were evaluated: list, show, compare and export them");
  archive->require_subcommand(1);
  archive->fallthrough();
  auto options = std::make_shared<Options>();
  archive->add_option("--archive", options->archive,
                      "The archive's file; default: $XDG_DATA_HOME/kernelsmith/archive.db");
  const auto command = [&](const char* name, const char* description,
                           Result<ExitCode> (*run)(Session&, const Options&)) {
    CLI::App* added = archive->add_subcommand(name, description);
    added->fallthrough();
    added->callback([&session, options, run] {
      session.action = [&session, options, run] { return run(session, *options); };
    });
    return added;
  };
  CLI::App* list = command("list", "candidates in one line each, the best first", ListCandidates);
  AddFilters(*list, *options);
  list->add_option("--limit", options->limit, "The most candidates to list (0: all)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command("runs", "runs of the optimiser, the newest first", ListRuns);
  CLI::App* show = command("show", "one candidate with findings, time, ancestors, source", Show);
  show->add_option("id", options->ids, "The candidate's id")->required()->expected(1);
  CLI::App* diff = command("diff", "how the sources of two candidates differ", Diff);
  diff->add_option("ids", options->ids, "The ids of two candidates: OLD NEW")
      ->required()
      ->expected(2);
  CLI::App* write = command("export", "write candidates as .cu files, and archive.json", Export);
  write->add_option("folder", options->folder, "The folder to write to")->required();
  AddFilters(*write, *options);
  write->preparse_callback([options](size_t) { options->limit = 0; });
  CLI::App* add = command("add", "keep reports of `kernelsmith verify --report`", AddReports);
  add->add_option("reports", options->reports, "JSON files")->required();
  add->add_option("--source", options->source, "The candidate, if it is not where it was verified");
}

}  // namespace kernelsmith
