#include "settings/config_change.h"

#include <map>
#include <set>

#include "config/node.h"
#include "config/yaml.h"

namespace roll {

namespace {

/// By the last part of the key, wherever it stands; a whole group where a group has that name.
const std::set<std::string>& free_keys() {
  static const std::set<std::string> kKeys = {
      // where things are, and what is shown and kept
      "exp_name", "output_dir", "logging_dir", "track_with", "tracker_kwargs", "logging_steps", "save_steps",
      "eval_steps", "max_ckpt_to_keep", "best_ckpt_to_keep", "metric_for_best_model", "greater_is_better",
      "early_stopping_patience", "early_stopping_threshold", "resume_from_checkpoint", "rollout_dump_dir",
      "dump_experience", "dump_samples", "hostfile", "system_envs", "validation", "val_prompt_length",
      "val_sequence_length",
      "file_name",  // that the rows are the same is known of the rows
      // how long it runs: what follows for the learning rate is said by who knows it (step/schedule_change.h)
      "max_steps", "num_train_epochs",
      // the job
      "max_restarts", "max_nonfinite_updates", "backend_timeout", "device_mapping", "num_gpus_per_worker",
      "strategy_args", "offload", "deterministic", "preprocessing_num_workers", "max_running_requests",
      "is_use_additional_prompts", "use_additional_prompts", "max_additional_running_prompts", "judge_api_url",
      "judge_api_key", "requests_per_minute", "tokens_per_minute", "max_retries", "world_size",
      "enable_reference",  // only measured by it: what needs it has keys of its own
      // equal numbers by another way
      "infer_batch_size", "use_sequence_packing", "sequence_packing_args", "use_dynamic_batching_in_train",
      "use_dynamic_batching_in_infer", "max_tokens_per_microbatch_in_train", "max_tokens_per_microbatch_in_infer",
      "sequence_length_round_in_train", "sequence_length_round_in_infer", "share_prompts",
      "disable_gradient_checkpointing", "train_batch_size", "per_device_train_batch_size",
      "gradient_accumulation_steps"};
  return kKeys;
}

using Flat = std::map<std::string, std::string>;

bool is_free(const std::string& key) {
  size_t begin = 0;
  while (begin <= key.size()) {
    const size_t end = std::min(key.find('.', begin), key.size());
    if (free_keys().contains(key.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

void flatten(const Node& node, const std::string& key, Flat& flat) {
  if (node.kind != Node::Kind::kMap) {
    flat[key] = flow_text(node);
    return;
  }
  for (const MapEntry& entry : node.map) flatten(entry.value, key.empty() ? entry.key : key + "." + entry.key, flat);
}

std::string text_at(const Flat& flat, const std::string& key) {
  const auto found = flat.find(key);
  return found == flat.end() ? "" : found->second;
}

}  // namespace

std::vector<ConfigChange> config_changes(const std::string& before, const std::string& origin, const std::string& now) {
  Flat then, here;
  flatten(parse_yaml(before, origin), "", then);
  flatten(parse_yaml(now, "the configuration"), "", here);
  std::set<std::string> keys;
  for (const Flat* flat : {&then, &here})
    for (const auto& [key, value] : *flat) keys.insert(key);
  std::vector<ConfigChange> changes;
  for (const std::string& key : keys) {
    const std::string old = text_at(then, key), fresh = text_at(here, key);
    if (old == fresh || is_free(key)) continue;
    changes.push_back({key, old, fresh});
  }
  return changes;
}

}  // namespace roll
