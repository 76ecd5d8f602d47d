#include "cli/commands.h"

namespace kernelsmith {

namespace {

struct CommandEntry {
  const char* heading;  // in --help
  void (*add)(CLI::App&, Session&);
};

constexpr CommandEntry kCommands[] = {
#define KS_COMMAND(heading, add) {heading, add},
#include "cli/commands.def"
#undef KS_COMMAND
};

}  // namespace

void AddCommands(CLI::App& app, Session& session) {
  for (const CommandEntry& entry : kCommands) {
    const size_t before = app.get_subcommands({}).size();
    entry.add(app, session);
    const std::vector<CLI::App*> all = app.get_subcommands({});
    for (size_t i = before; i < all.size(); ++i) all[i]->group(entry.heading);
  }
}

}  // namespace kernelsmith
