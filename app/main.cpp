// Registers the subcommands, and alone turns exceptions into exit codes: 0 success, 1 system, 2 user input, 70 bug.
#include <unistd.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "app/cli/examples.h"
#include "app/cli/parse.h"
#include "app/commands.h"
#include "app/version.h"
#include "base/console.h"
#include "device/cuda_library.h"
#include "job/ending.h"
#include "job/launch.h"
#include "job/threads.h"

namespace {

/// Adds subcommands under a heading of `roll --help`.
void add_group(CLI::App& app, const char* heading, std::initializer_list<void (*)(CLI::App&)> additions) {
  for (const auto add : additions) add(app);
  for (CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (sub->get_group() == "Subcommands") sub->group(heading);
}

int run(int argc, char** argv) {
  CLI::App app{"roll: reinforcement-learning post-training of language models", "roll"};
  app.set_version_flag("--version", [] {
    return fmt::format("roll {}\n{}", roll::version_with_commit(), fmt::join(roll::version_lines(), "\n"));
  });
  app.require_subcommand(1);
  add_group(app, "Begin",
            {roll::add_quickstart, roll::add_new, roll::add_data, roll::add_convert_config, roll::add_validate_config});
  add_group(app, "Train",
            {roll::add_train, roll::add_sft, roll::add_dpo, roll::add_distill, roll::add_report,
             roll::add_checkpoint_tools, roll::add_serve_environment});
  add_group(app, "Look closer", {roll::add_keys, roll::add_pack_stats, roll::add_check_loss, roll::add_doctor});
  add_group(app, "Use a model",
            {roll::add_generate, roll::add_serve, roll::add_evaluate, roll::add_score, roll::add_logprobs,
             roll::add_tokenize, roll::add_init_model, roll::add_export});
  add_group(app, "For the shell", {roll::add_completion, roll::add_man});
  roll::add_examples(app);
  return roll::parse_and_run(app, argc, argv);
}

int run_and_report(int argc, char** argv) {
  try {
    roll::guard_console();
    roll::load_cuda_library();
    roll::keep_threads_to_quota();
    return run(argc, argv);
  } catch (const std::exception& e) {
    const std::string line = roll::error_line(e);
    if (!line.empty()) std::fprintf(stderr, "%s\n", line.c_str());
    roll::abort_all_ranks(e);
    return roll::exit_code_for(e);
  }
}

}  // namespace

/// Exits without destructors of globals: our objects ended with run(), and destroying LibTorch's operator tables takes
/// 0.1 s.
int main(int argc, char** argv) {
  const int code = run_and_report(argc, argv);
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  ::_exit(code);
}
