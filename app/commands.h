// Registers the subcommands of `roll`, for main.cpp.
#pragma once

#include <CLI/CLI.hpp>

namespace roll {

// add_x() adds the subcommand `roll x` with its flags to `app`; CLI11 calls its callback, which does the work, while it
// parses. The callbacks throw; main.cpp turns exceptions into exit codes.
void add_check_loss(CLI::App& app);
void add_checkpoint_tools(CLI::App& app);  // roll inspect, roll verify
void add_completion(CLI::App& app);
void add_convert_config(CLI::App& app);
void add_data(CLI::App& app);  // roll data check, roll data convert
void add_doctor(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_export(CLI::App& app);
void add_generate(CLI::App& app);
void add_init_model(CLI::App& app);
void add_keys(CLI::App& app);  // roll keys, roll metrics, roll explain
void add_logprobs(CLI::App& app);
void add_man(CLI::App& app);
void add_new(CLI::App& app);
void add_pack_stats(CLI::App& app);
void add_quickstart(CLI::App& app);
void add_report(CLI::App& app);
void add_score(CLI::App& app);
void add_serve(CLI::App& app);
void add_serve_environment(CLI::App& app);
void add_sft(CLI::App& app);
void add_dpo(CLI::App& app);
void add_distill(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_train(CLI::App& app);
void add_validate_config(CLI::App& app);

}  // namespace roll
