// Keys that `roll sft`, `roll dpo` and `roll distill` share; each trains one model on the rows of a data set. An update
// is one optimizer step on one mini-batch. These runs count updates where `roll train` counts steps.
#pragma once

#include "config/keys.h"
#include "settings/config.h"

namespace roll {

/// Members are keys unless a comment says otherwise; their help texts are in run_fields() and the commands' fields().
struct RowConfig {
  std::string kind;         // not a key: the command ("sft", "dpo", "distill"), which is also the metrics' prefix
  std::string trained_key;  // not a key: name of the key that holds `trained`, such as "sft_train"
  std::string exp_name;
  int64_t seed = 42;
  bool deterministic = false;
  std::string output_dir = "./output";
  std::optional<std::string> logging_dir;
  TrackConfig track;
  std::optional<int64_t> max_steps;  // null: num_train_epochs passes
  int64_t num_train_epochs = 1;
  int64_t eval_steps = 0;
  int64_t logging_steps = 1;
  CheckpointConfig checkpoints{.save_steps = 0, .metric_for_best_model = "val/loss", .greater_is_better = false};
  int64_t max_restarts = 0;
  int64_t max_nonfinite_updates = 3;
  std::optional<std::string> hostfile;
  std::map<std::string, std::string> system_envs;
  FromEnv from_env;  // not a key: values read from ${oc.env:NAME}; resolved_yaml() writes that form again
  std::optional<std::string> pretrain;
  int64_t sequence_length = 1024;
  double max_grad_norm = 1;
  std::optional<std::string> global_template;
  std::optional<std::string> prompt_key, query_key, response_key;
  LossConfig loss = sft_loss();  // only its aggregation keys are read
  WorkerConfig trained{.duties = {.trains = true, .forwards = true, .has_data = true, .leads = true}};
  WorkerConfig validation{.duties = {.has_model = false, .has_data = true}};  // only its data_args are read

  RowConfig(const std::string& command, std::string key)
      : kind(command), trained_key(std::move(key)), exp_name(command) {}

 protected:
  /// Declares the shared keys except models, data and loss, which each command's fields() declares.
  void run_fields(Keys& v) {
    v("exp_name", exp_name, "name of the run", may_change());
    v("seed", seed, "seed of all random numbers", at_least(0));
    v("deterministic", deterministic,
      "a GPU gives the same bits in every run, with some slower kernels; a CPU always does", may_change());
    v("output_dir", output_dir, "run folder: metrics, checkpoints", may_change());
    v("logging_dir", logging_dir, "folder of log.txt; null: output_dir", may_change());
    track.fields(v);
    v("max_steps", max_steps, "updates of the run; null: num_train_epochs passes over the data", round_range(),
      may_change());
    v("num_train_epochs", num_train_epochs, "passes over the data when max_steps is null", round_range(), may_change());
    v("eval_steps", eval_steps, "updates between validations; 0 or -1: only at the end", at_least(-1), may_change());
    v("logging_steps", logging_steps, "updates between lines on the terminal; files have all updates", at_least(1),
      may_change());
    checkpoints.fields(v);
    v("max_restarts", max_restarts, "how often a job is restarted after a rank died or hung", within(0, 1000),
      may_change());
    v("max_nonfinite_updates", max_nonfinite_updates,
      "updates in a row that may be skipped because of a NaN or infinite loss or gradient; one more ends the run",
      at_least(0), may_change());
    v("hostfile", hostfile, "file of hosts, one line \"name slots=N\" per host; null: this host", may_change());
    v("system_envs", system_envs, "environment variables set for the run", may_change());
    v("pretrain", pretrain, "the first weights: HF folder or Hub name");
    v("sequence_length", sequence_length, "longest sequence in tokens; longer rows are dropped and counted",
      token_range());
    v("max_grad_norm", max_grad_norm, "gradients are scaled down to this norm", above_to(0, 1e12));
    v("global_template", global_template, "chat template of all data; null: the model's own");
    v.noted({"hydra", "defaults"}, "the file is read as it is, without Hydra");
    v.noted({"num_gpus_per_node"}, "device_mapping, -n and the hostfile place the ranks");
    v.noted({"checkpoint_config"}, "checkpoints go to output_dir/checkpoints");
  }

 private:
  static LossConfig sft_loss() {
    LossConfig loss;
    loss.loss_agg_mode = AggMode::kTokenMean;
    loss.loss_mask_keys = {"labels_mask"};
    return loss;
  }
};

}  // namespace roll
