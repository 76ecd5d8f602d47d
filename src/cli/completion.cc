// `kernelsmith completion SHELL`: a completion script, made from the command line's own
// description.
#include <fmt/format.h>

#include "cli/commands.h"

namespace kernelsmith {
namespace {

std::string OptionWords(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  return words;
}

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Also zsh's, through its bashcompinit.
std::string BashScript(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : Commands(app)) {
    names += command->get_name() + " ";
    std::string words = OptionWords(*command);
    for (const CLI::App* inner : Commands(*command)) words += inner->get_name() + " ";
    cases += fmt::format("    {}) words=\"{}\" ;;\n", command->get_name(), words);
  }
  return fmt::format(R"(_kernelsmith() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="" word words
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  case "$command" in
    "") words="{}" ;;
{}  esac
  COMPREPLY=($(compgen -W "$words {}" -- "$current"))
  case "$current" in -*) ;; *) [ -n "$command" ] && COMPREPLY+=($(compgen -f -- "$current")) ;; esac
}}
complete -o filenames -F _kernelsmith kernelsmith
)",
                     names, cases, OptionWords(app));
}

std::string FishQuote(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string FishScript(const CLI::App& app) {
  std::string script;
  const auto add_options = [&](const CLI::App& from, const std::string& condition) {
    for (const CLI::Option* option : from.get_options()) {
      for (const std::string& name : option->get_lnames()) {
        script += fmt::format("complete -c kernelsmith {} -l {} -d {}\n", condition, name,
                              FishQuote(option->get_description()));
      }
    }
  };
  add_options(app, "");
  for (const CLI::App* command : Commands(app)) {
    script += fmt::format("complete -c kernelsmith -n __fish_use_subcommand -a {} -d {}\n",
                          command->get_name(), FishQuote(command->get_description()));
    add_options(*command, fmt::format("-n '__fish_seen_subcommand_from {}'", command->get_name()));
  }
  return script;
}

}  // namespace

void AddCompletion(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "completion", "Print a completion script, e.g. eval \"$(kernelsmith completion bash)\"");
  command->fallthrough();
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, &session, shell] {
    session.action = [&app, &session, shell]() -> Result<ExitCode> {
      const std::string script =
          *shell == "fish"  ? FishScript(app)
          : *shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" + BashScript(app)
                            : BashScript(app);
      if (session.json) {
        session.PrintJson({{"shell", *shell}, {"script", script}});
      } else {
        session.out << script;
      }
      return kExitOk;
    };
  });
}

}  // namespace kernelsmith
