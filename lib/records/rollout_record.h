// RolloutRecord is one response after reward scoring: a line of rollouts/step_NNNNNN.jsonl, a public format. Numbers
// are rounded to 9 significant digits in memory too, so that a replayed step equals the sampled one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Consecutive response tokens that were sampled with the same weights.
struct WeightsRun {
  int64_t version = 0;  // training steps that these weights had seen
  int64_t num_tokens = 0;
  template <class F>
  void fields(F& field) {
    field("version", version), field("num_tokens", num_tokens);
  }
  bool operator==(const WeightsRun&) const = default;
};

/// One turn in an environment: the model's tokens, followed in the response by the environment's answer.
struct Turn {
  int64_t num_tokens = 0;              // sampled by the model; they carry loss
  int64_t num_environment_tokens = 0;  // the environment's answer, without loss; 0 in the last turn
  double reward = 0;                   // from the environment, for this turn
  bool is_valid = true;                // the model's tokens held an action
  int64_t state = 0;                   // hash of the observation before the turn; 32 bits
  // True: the turn starts a new context (model/packed.h). Its prompt is the environment's answer of the turn before.
  bool is_fresh = false;
  template <class F>
  void fields(F& field) {
    field("num_tokens", num_tokens), field("num_environment_tokens", num_environment_tokens);
    field("reward", reward), field("is_valid", is_valid), field("state", state), field("is_fresh", is_fresh);
  }
  bool operator==(const Turn&) const = default;
};

/// A response with its prompt, tokens, log-probs and rewards.
struct RolloutRecord {
  int64_t step = 0;
  std::string domain;
  std::string prompt_id;
  int64_t group_index = 0;   // index of the prompt in the step; the responses to it form a group
  int64_t sample_index = 0;  // index of the response in the group
  /// True for a greedy baseline (ReMax): a greedily sampled response at the end of the group. Only its reward is used.
  /// The JSON key is written only if true.
  bool is_baseline = false;
  std::string prompt;
  std::string response;
  std::vector<int64_t> prompt_ids;
  std::vector<int64_t> response_ids;  // model and environment tokens, interleaved
  std::vector<float> log_probs;       // from the sampler, one per response token, nats; 0 for environment tokens
  std::vector<Turn> turns{};          // in environments: splits response_ids into turns; else empty, and no JSON key
  /// Splits response_ids into runs of tokens that the same weights sampled. Empty (and no JSON key) if all tokens come
  /// from the weights with which the step began.
  std::vector<WeightsRun> weights{};
  /// [num_routed(), experts per token]: experts that were chosen for each token of prompt and response, except the last
  /// token. The experts of one token are ordered by MoE layer. -1 for the last token of a context that another context
  /// follows. Empty (and no JSON key) unless recorded.
  std::vector<int16_t> routed_experts{};
  std::string weights_sum{};  // Engine::weights_sum() of sampled adapters; "" (no JSON key) without adapters
  std::string finish_reason;  // stop | length | stop_string | abort
  bool is_judged = true;      // false: the response could not be scored; score and reward are null in JSON, and 0 here
  double score = 0;           // verdict of the reward function; older lines without a score: equals `reward`
  double reward = 0;          // the score after penalties
  Json reward_detail = Json::object();  // depends on the type of reward
  std::string ground_truth;
  std::string tag;
  double difficulty = 0;  // from the prompt's row; 0 if unset

  /// Returns the number of response tokens that the model sampled; environment tokens do not count.
  int64_t num_model_tokens() const { return num_model_tokens(0, std::ssize(response_ids)); }
  /// Counts only response tokens with indices in [begin, end).
  int64_t num_model_tokens(int64_t begin, int64_t end) const;

  /// Returns the number of tokens with an entry in routed_experts.
  int64_t num_routed() const { return std::ssize(prompt_ids) + std::ssize(response_ids) - 1; }

  /// Visits the keys that every line of a file has.
  template <class F>
  void core_fields(F& field) {
    field("step", step), field("domain", domain), field("prompt_id", prompt_id);
    field("group_index", group_index), field("sample_index", sample_index);
    field("prompt", prompt), field("response", response);
    field("prompt_ids", prompt_ids), field("response_ids", response_ids), field("log_probs", log_probs);
    field("finish_reason", finish_reason), field("score", score), field("reward", reward);
    field("reward_detail", reward_detail), field("ground_truth", ground_truth), field("tag", tag);
    field("difficulty", difficulty);
  }
  /// Visits the keys that a line has only if they differ from the default.
  template <class F>
  void rare_fields(F& field) {
    field("is_baseline", is_baseline), field("turns", turns), field("weights", weights);
    field("routed_experts", routed_experts), field("weights_sum", weights_sum);
  }
  /// Visits the fields of a record in a message between ranks.
  template <class F>
  void fields(F& field) {
    core_fields(field), rare_fields(field), field("is_judged", is_judged);
  }

  bool operator==(const RolloutRecord&) const = default;
};

/// Rounds a number as the file format does. Throws Bug if it is not finite.
double as_written(double x);

/// Returns the JSON object of a line in a rollout file.
Json to_json(const RolloutRecord& record);

/// Parses a line's JSON; `origin` is "file:line", for errors. Throws UserError if
///   - a field is missing or mistyped, prompt_ids or response_ids is empty, or an id is negative or not an integer
///   - log_probs differs from response_ids in length, or has a value above 0.001
///   - a reward or score exceeds +-kLargestReward
///   - the token counts of turns or weights do not add up to those of response_ids
///   - routed_experts is not one equally long list for each token except the last
RolloutRecord record_from_json(const Json& json, const std::string& origin);

/// Returns the text of a file: one line per record.
std::string to_lines(const std::vector<RolloutRecord>& records);
/// Parses the text of a file; `origin` is the file's name. Throws UserError like record_from_json().
std::vector<RolloutRecord> records_from_lines(const std::string& lines, const std::string& origin);
/// Returns a file name, e.g. rollouts/step_000012.jsonl for folder "rollouts", prefix "step_", number 12, extension
/// ".jsonl".
std::filesystem::path numbered(const std::filesystem::path& folder, const std::string& prefix, int64_t number,
                               const std::string& extension);

/// Throws UserError "origin: step ..., group ..." if a token id is not below vocab_size.
void check_vocabulary(const std::vector<RolloutRecord>& records, int64_t vocab_size, const std::string& origin);

/// Throws UserError "origin: step ..., group ..." if a record has no routed_experts, more or fewer than `width` per
/// token, or an index that is not below num_experts. `width`: MoE layers x experts per layer.
void check_routed_experts(const std::vector<RolloutRecord>& records, int64_t width, int64_t num_experts,
                          const std::string& origin);

/// Sorts the records by group_index, then sample_index.
void sort_records(std::vector<RolloutRecord>& records);

}  // namespace roll
