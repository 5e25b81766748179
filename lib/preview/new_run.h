// Makes the text of a first configuration for the user's model and rows, with the few keys that matter, for `roll new`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "data/row_columns.h"
#include "model/spec.h"
#include "preview/lengths.h"
#include "process/python_name.h"

namespace roll {

/// The algorithm of a new configuration, by the value of the flag --algorithm.
enum class NewAlgorithm { kGrpo, kPpo, kReinforce };
constexpr auto enum_names(NewAlgorithm) {
  return std::to_array<Named<NewAlgorithm>>(
      {{NewAlgorithm::kGrpo, "grpo"}, {NewAlgorithm::kPpo, "ppo"}, {NewAlgorithm::kReinforce, "reinforce"}});
}

/// The user's answers, and facts about the rows.
struct NewRun {
  std::string folder;                        // folder of the configuration file, absolute
  std::string output_dir;                    // key output_dir, absolute
  std::string model;                         // absolute folder or Hub name
  std::vector<std::string> data;             // files of training rows
  std::optional<std::string> validation;     // file of validation rows
  std::string reward;                        // reward type, or a Python function as absolute FILE.py:FUNCTION
  std::vector<std::string> domains;          // domains named by the rows; empty: one domain, reward_domain()
  std::optional<RowColumns> layout;          // columns of the rows, unless they are roll's own
  bool has_messages = true;                  // prompts are chats; false: raw text
  std::optional<std::string> chat_template;  // value of data_args.template; set if the model has no template
  NewAlgorithm algorithm = NewAlgorithm::kGrpo;
  int64_t num_devices = 1;
  bool on_gpu = false;
  bool has_fast_bf16 = false;     // without GPUs: the processor multiplies bfloat16 faster than float32
  int64_t prompts_per_step = 32;  // fewer are written if there are fewer rows
  int64_t num_rows = 0;           // training rows
  LengthSummary prompts;          // tokens of the prompts
  bool keeps_all = false;  // true: prompt_length fits the longest prompt; false: a few very long ones may be dropped

  /// Returns the name of the domain if there is one: the function's name or the reward type.
  std::string reward_domain() const;
};

/// Returns the parts of a reward that is FILE.py:FUNCTION; nullopt if it is a type. Throws UserError if the function
/// has no name.
std::optional<PythonName> python_reward(const std::string& reward);

/// How the devices share the model.
struct NewLayout {
  int64_t tensor_ranks = 1;  // devices that share one replica of the model (tensor parallelism)
  bool offload = false;      // key offload
};

/// Returns the layouts to try, simplest first: full replicas, then tensor parallelism over 2, 4, ... devices. `spec`:
/// shape of the model.
std::vector<NewLayout> suggest_layouts(const NewRun& run, const ModelSpec& spec);

/// Returns the YAML for `roll train`. Throws UserError if the model's context leaves no room for a response.
std::string new_config(const NewRun& run, const ModelSpec& spec, const NewLayout& layout);
/// Returns the YAML for `roll sft`. `run.prompts` must hold the lengths of whole rows; reward and algorithm are
/// ignored.
std::string new_sft_config(const NewRun& run, const ModelSpec& spec);

}  // namespace roll
