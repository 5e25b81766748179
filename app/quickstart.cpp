// roll quickstart: runs scripts/quickstart_training.sh, which ships with the program.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "process/own_program.h"
#include "settings/load_config.h"

namespace roll {

namespace {

struct QuickstartFlags {
  std::vector<std::string> overrides;
  bool resume = false, new_run = false;
};

/// Replaces this process by the script, which calls this program for each step. Overrides are checked first, so that a
/// mistake is reported at once, not after a minute of warm-up.
[[noreturn]] void become_script(const QuickstartFlags& flags) {
  load_config(find_shipped_file({"configs/quickstart.yaml"}), flags.overrides, {.num_ranks = {}, .offline = true});
  const std::string program = own_program(), script = find_shipped_file({"scripts/quickstart_training.sh"});
  std::vector<std::string> words{"bash", script, program};
  words.insert(words.end(), flags.overrides.begin(), flags.overrides.end());
  if (flags.resume) words.emplace_back("--resume");
  if (flags.new_run) words.emplace_back("--new-run");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execvp("bash", arguments.data());
  throw system_error("bash, which runs {}, cannot be started{}", script, errno_text());
}

}  // namespace

void add_quickstart(CLI::App& app) {
  auto* sub = app.add_subcommand("quickstart", "teach a tiny model to calculate, in about two minutes");
  auto flags = std::make_shared<QuickstartFlags>();
  sub->add_option("overrides", flags->overrides, "key=value pairs for the training, such as max_steps=3");
  auto* resume = sub->add_flag("--resume", flags->resume, "continue the training in ./output/quickstart/train");
  sub->add_flag("--new-run", flags->new_run, "train again, in a new folder inside ./output/quickstart/train")
      ->excludes(resume);
  sub->callback([=] { become_script(*flags); });
}

}  // namespace roll
