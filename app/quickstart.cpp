// roll quickstart: runs the script of that name, which comes with the program.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

/// Beside an installed program in share/roll; beside a build folder in the checkout.
fs::path script_beside(const fs::path& program) {
  for (const char* share : {"share/roll", ""}) {
    const fs::path script = program.parent_path().parent_path() / share / "scripts/quickstart_training.sh";
    if (is_there(script)) return script;
  }
  throw user_error(
      "{}: the quickstart's files are not with this program (share/roll); install all of it, or run "
      "scripts/quickstart.sh in a checkout",
      program.string());
}

/// Becomes the script, which starts this program for each of its steps.
[[noreturn]] void become_script(const std::vector<std::string>& overrides) {
  const std::string program = fs::read_symlink("/proc/self/exe"), script = script_beside(program);
  std::vector<std::string> words{"bash", script, program};
  words.insert(words.end(), overrides.begin(), overrides.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp("bash", arguments.data());
  throw system_error("bash, which runs {}, cannot be started{}", script, errno_text());
}

}  // namespace

void add_quickstart(CLI::App& app) {
  auto* sub = app.add_subcommand("quickstart", "teach a tiny model to calculate, in about two minutes");
  auto overrides = std::make_shared<std::vector<std::string>>();
  sub->add_option("overrides", *overrides, "key=value pairs for the training, as max_steps=3");
  sub->callback([=] { become_script(*overrides); });
}

}  // namespace roll
