// A first configuration for somebody's own model and rows: the few keys that matter, with values that follow from both.
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
constexpr auto names_of(NewAlgorithm) {
  return std::to_array<Named<NewAlgorithm>>(
      {{NewAlgorithm::kGrpo, "grpo"}, {NewAlgorithm::kPpo, "ppo"}, {NewAlgorithm::kReinforce, "reinforce"}});
}

/// The user's answers, and facts of the rows.
struct NewRun {
  std::string folder, output_dir, model;  // absolute; the model may be a Hub name
  std::vector<std::string> data;
  std::optional<std::string> validation;
  std::string reward;                        // a type
  std::vector<std::string> domains;          // that the rows name; empty: one of the type's name
  std::optional<RowColumns> layout;          // of rows in others' columns
  bool has_messages = true;                  // else raw prompts
  std::optional<std::string> chat_template;  // where the model has none of its own
  NewAlgorithm algorithm = NewAlgorithm::kGrpo;
  int64_t num_devices = 1;
  bool on_gpu = false;
  int64_t prompts_per_step = 32;  // where the rows suffice
  int64_t num_rows = 0;
  LengthSummary prompts;   // tokens
  bool keeps_all = false;  // else a few very long prompts may be dropped
};

/// How the devices share the model.
struct NewLayout {
  int64_t tensor_ranks = 1;
  bool offload = false;
};

/// The layouts to try, the simplest first: whole models on every device, then cut over 2, 4, ... of them.
std::vector<NewLayout> layouts_of(const NewRun& run, const ModelSpec& spec);

/// The YAML. UserError: a model whose positions leave no room for a response.
std::string new_config(const NewRun& run, const ModelSpec& spec, const NewLayout& layout);
/// The YAML of a fine-tuning; `run.prompts` holds the lengths of whole rows, reward and algorithm are not read.
std::string new_sft_config(const NewRun& run, const ModelSpec& spec);

}  // namespace roll
