// `kernelsmith cache`: what the cache folder holds, and how to make it smaller.
#include "support/cache.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/session_cache.h"

namespace kernelsmith {
namespace {

struct Options {
  std::vector<std::string> kinds;
  std::optional<double> older_than_days;
  std::optional<uint64_t> limit;
};

std::string SizeText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(kUnits)) {
    size /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} {}", bytes, kUnits[0])
                   : fmt::format("{:.1f} {}", size, kUnits[unit]);
}

struct KindTotal {
  const CacheKind* kind = nullptr;
  size_t entries = 0;
  uint64_t bytes = 0;
};

std::vector<KindTotal> TotalsOf(const Cache& cache) {
  std::vector<KindTotal> totals;
  for (const CacheKind& kind : AllCacheKinds()) totals.push_back({.kind = &kind});
  for (const CacheEntry& entry : cache.Entries()) {
    KindTotal& total = *std::find_if(totals.begin(), totals.end(), [&](const KindTotal& each) {
      return each.kind == entry.kind;
    });
    ++total.entries;
    total.bytes += entry.bytes;
  }
  return totals;
}

// What the limit is about.
KindTotal Limited(const std::vector<KindTotal>& totals) {
  KindTotal all;
  for (const KindTotal& each : totals) {
    if (each.kind->is_result) continue;
    all.entries += each.entries;
    all.bytes += each.bytes;
  }
  return all;
}

Result<ExitCode> ShowCache(Session& session) {
  const Cache cache = CacheOf(session);
  const uint64_t limit = CacheLimitOf(session);
  const std::vector<KindTotal> totals = TotalsOf(cache);
  const KindTotal all = Limited(totals);
  if (session.json) {
    nlohmann::json kinds = nlohmann::json::array();
    for (const KindTotal& each : totals) {
      kinds.push_back({{"kind", each.kind->name},
                       {"what", each.kind->what},
                       {"entries", each.entries},
                       {"bytes", each.bytes},
                       {"limited", !each.kind->is_result}});
    }
    session.PrintJson({{"folder", cache.folder().string()},
                       {"entries", all.entries},
                       {"bytes", all.bytes},
                       {"limit", limit == 0 ? nlohmann::json() : nlohmann::json(limit)},
                       {"kinds", std::move(kinds)}});
    return kExitOk;
  }
  session.out << fmt::format("{}\n", EscapeForTerminal(cache.folder().string()));
  for (const KindTotal& each : totals) {
    session.out << fmt::format("  {:<13} {:>6} {:<7} {:>11}  {}\n", each.kind->name, each.entries,
                               each.entries == 1 ? "entry" : "entries", SizeText(each.bytes),
                               each.kind->what);
  }
  session.out << fmt::format("{} without results; the limit is {} (KERNELSMITH_CACHE_MIB)\n",
                             SizeText(all.bytes), limit == 0 ? "none" : SizeText(limit));
  return kExitOk;
}

Result<ExitCode> PrintRemoval(Session& session, const CacheRemoval& removal) {
  const uint64_t left = Limited(TotalsOf(CacheOf(session))).bytes;
  if (session.json) {
    session.PrintJson({{"removed", removal.entries},
                       {"removed_bytes", removal.bytes},
                       {"in_use", removal.in_use},
                       {"bytes", left}});
    return kExitOk;
  }
  session.out << fmt::format("removed {} {}, {}{}; {} left without results\n", removal.entries,
                             removal.entries == 1 ? "entry" : "entries", SizeText(removal.bytes),
                             removal.in_use == 0 ? "" : fmt::format(" ({} in use)", removal.in_use),
                             SizeText(left));
  return kExitOk;
}

Result<ExitCode> ClearCache(Session& session, const Options& options) {
  Cache::Selection selection{.kinds = options.kinds};
  if (options.older_than_days) {
    selection.unused_for = std::chrono::hours(static_cast<int64_t>(24 * *options.older_than_days));
  }
  KS_TRY(const CacheRemoval removal, CacheOf(session).Clear(selection));
  return PrintRemoval(session, removal);
}

Result<ExitCode> TrimCache(Session& session, const Options& options) {
  const uint64_t limit = options.limit.value_or(CacheLimitOf(session));
  if (!options.limit && limit == 0) {
    return InvalidInput("the cache has no limit (KERNELSMITH_CACHE_MIB is 0): give --limit");
  }
  KS_TRY(const CacheRemoval removal, CacheOf(session).Trim(limit));
  return PrintRemoval(session, removal);
}

}  // namespace

void AddCache(CLI::App& app, Session& session) {
  CLI::App* cache =
      app.add_subcommand("cache", "Show what the cache holds, or make it smaller: clear, trim");
  cache->require_subcommand(0, 1);
  cache->footer(
      "The cache is $KERNELSMITH_CACHE, or kernelsmith in $XDG_CACHE_HOME or ~/.cache. It holds\n"
      "what can be made again; what is used longest ago goes when there is more than\n"
      "KERNELSMITH_CACHE_MIB (2048; 0: no limit). Results of bench, mutants and translate --suite\n"
      "do not count, and go only when they are named. What a running process uses stays.");
  auto options = std::make_shared<Options>();
  cache->callback([cache, &session] {
    if (!cache->get_subcommands().empty()) return;
    session.action = [&session] { return ShowCache(session); };
  });
  std::vector<std::string> kinds;
  for (const CacheKind& kind : AllCacheKinds()) kinds.emplace_back(kind.name);
  CLI::App* clear = cache->add_subcommand("clear", "Remove entries of some kinds or ages");
  clear->add_option("--kind", options->kinds, "Only this kind; without it all but results")
      ->check(CLI::IsMember(kinds));
  clear
      ->add_option("--older-than", options->older_than_days,
                   "Only what nobody has used for so many days")
      ->check(CLI::NonNegativeNumber)
      ->type_name("DAYS");
  clear->callback([&session, options] {
    session.action = [&session, options] { return ClearCache(session, *options); };
  });
  CLI::App* trim = cache->add_subcommand(
      "trim", "Remove what was not used for longest until the rest is within the limit");
  trim->add_option("--limit", options->limit, "Such as 500MB or 2GB; default: the cache's limit")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("SIZE");
  trim->callback([&session, options] {
    session.action = [&session, options] { return TrimCache(session, *options); };
  });
}

}  // namespace kernelsmith
