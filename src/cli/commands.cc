#include "cli/commands.h"

namespace kernelsmith {

namespace {

struct CommandEntry {
  const char* group;  // the heading in --help
  void (*add)(CLI::App&, Session&);
};

constexpr CommandEntry kCommands[] = {
    {"Tasks", AddTasks},         {"Tasks", AddOps},           {"Candidates", AddTranslate},
    {"Candidates", AddOptimize}, {"Candidates", AddVerify},   {"Candidates", AddBench},
    {"Candidates", AddCompare},  {"Candidates", AddEstimate}, {"Candidates", AddPlan},
    {"Candidates", AddMutate},   {"Candidates", AddMutants},  {"Candidates", AddAskVerifier},
    {"Candidates", AddArchive},  {"Kernels", AddRun},         {"Kernels", AddSanitize},
    {"Kernels", AddProfile},     {"Kernels", AddLaunch},      {"Set-up", AddDoctor},
    {"Set-up", AddCompletion},
};

}  // namespace

void AddCommands(CLI::App& app, Session& session) {
  for (const CommandEntry& entry : kCommands) {
    const size_t before = app.get_subcommands({}).size();
    entry.add(app, session);
    const std::vector<CLI::App*> all = app.get_subcommands({});
    for (size_t i = before; i < all.size(); ++i) all[i]->group(entry.group);
  }
}

}  // namespace kernelsmith
