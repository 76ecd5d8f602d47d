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

namespace {

// An option that may be given several times takes one value each time: without this it would take
// the operands behind it as well.
void TakeOneValueEach(CLI::App& command) {
  for (CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() >= CLI::detail::expected_max_vector_size &&
        !option->get_positional()) {
      option->allow_extra_args(false);
    }
  }
  for (CLI::App* inner : command.get_subcommands({})) TakeOneValueEach(*inner);
}

}  // namespace

void AddCommands(CLI::App& app, Session& session) {
  for (const CommandEntry& entry : kCommands) {
    const size_t before = app.get_subcommands({}).size();
    entry.add(app, session);
    const std::vector<CLI::App*> all = app.get_subcommands({});
    for (size_t i = before; i < all.size(); ++i) all[i]->group(entry.heading);
  }
  TakeOneValueEach(app);
}

}  // namespace kernelsmith
