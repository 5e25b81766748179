// The only place that turns errors into exit codes: 0 done, 1 system, 2 the user's input, 70 a bug of ours.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "app/commands.h"
#include "app/parse.h"
#include "job/ending.h"
#include "job/launch.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app{"roll: reinforcement-learning post-training of language models", "roll"};
  app.set_version_flag("--version",
                       [] { return fmt::format("roll {}\n{}", ROLL_VERSION, fmt::join(roll::version_lines(), "\n")); });
  app.require_subcommand(1);
  roll::add_check_loss(app);
  roll::add_checkpoint_tools(app);
  roll::add_export(app);
  roll::add_generate(app);
  roll::add_init_model(app);
  roll::add_keys(app);
  roll::add_logprobs(app);
  roll::add_pack_stats(app);
  roll::add_report(app);
  roll::add_score(app);
  roll::add_sft(app);
  roll::add_tokenize(app);
  roll::add_train(app);
  roll::add_validate_config(app);
  return roll::parse_and_run(app, argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    const std::string line = roll::error_line(e);
    if (!line.empty()) std::fprintf(stderr, "%s\n", line.c_str());
    roll::abort_all_ranks(e);
    return roll::exit_code_of(e);
  }
}
