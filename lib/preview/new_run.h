// `roll new`: writes a first configuration for the user's model and rows, with the few keys that matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "data/row_columns.h"
#include "model/spec.h"
#include "preview/lengths.h"

namespace roll {

enum class NewAlgorithm { kGrpo, kPpo, kReinforce };
constexpr auto enum_names(NewAlgorithm) {
  return std::to_array<Named<NewAlgorithm>>(
      {{NewAlgorithm::kGrpo, "grpo"}, {NewAlgorithm::kPpo, "ppo"}, {NewAlgorithm::kReinforce, "reinforce"}});
}

/// The user's answers, and facts about the rows.
struct NewRun {
  std::string folder, output_dir, model;  // absolute; the model may be a Hub name
  std::vector<std::string> data;
  std::optional<std::string> validation;
  std::string reward;                        // reward type
  std::vector<std::string> domains;          // domains named by the rows; empty: one, named after the type
  std::optional<RowColumns> layout;          // column names, if the rows use a foreign layout
  bool has_messages = true;                  // false: raw prompts
  std::optional<std::string> chat_template;  // if the model has none
  NewAlgorithm algorithm = NewAlgorithm::kGrpo;
  int64_t num_devices = 1;
  bool on_gpu = false;
  int64_t prompts_per_step = 32;  // upper limit: num_rows
  int64_t num_rows = 0;
  LengthSummary prompts;   // tokens
  bool keeps_all = false;  // false: a few very long prompts may be dropped
};

/// How the devices share the model.
struct NewLayout {
  int64_t tensor_ranks = 1;
  bool offload = false;
};

/// Returns the layouts to try, simplest first: full replicas, then tensor parallelism over 2, 4, ... devices.
std::vector<NewLayout> suggest_layouts(const NewRun& run, const ModelSpec& spec);

/// Returns the YAML. UserError: the model's context is too short for a response.
std::string new_config(const NewRun& run, const ModelSpec& spec, const NewLayout& layout);
/// Returns the YAML of a fine-tuning. `run.prompts` holds the lengths of whole rows; reward and algorithm are ignored.
std::string new_sft_config(const NewRun& run, const ModelSpec& spec);

}  // namespace roll
