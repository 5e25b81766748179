// The subcommands of `roll`, registered by main.cpp.
#pragma once

#include <CLI/CLI.hpp>

namespace roll {

// Each function adds its subcommand with flags to `app`; the callback runs it. main.cpp turns exceptions into exit
// codes.
void add_check_loss(CLI::App& app);
void add_checkpoint_tools(CLI::App& app);
void add_completion(CLI::App& app);
void add_convert_config(CLI::App& app);
void add_data(CLI::App& app);
void add_doctor(CLI::App& app);
void add_evaluate(CLI::App& app);
void add_export(CLI::App& app);
void add_generate(CLI::App& app);
void add_init_model(CLI::App& app);
void add_keys(CLI::App& app);
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
