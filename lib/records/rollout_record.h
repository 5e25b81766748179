// One response after reward scoring: a line of rollouts/step_NNNNNN.jsonl, a public format. Numbers are rounded to 9
// significant digits in memory too, so that a replayed step equals the sampled one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Consecutive response tokens sampled with the same weights.
struct WeightsRun {
  int64_t version = 0;  // number of training steps done
  int64_t num_tokens = 0;
  template <class F>
  void fields(F& field) {
    field("version", version), field("num_tokens", num_tokens);
  }
  bool operator==(const WeightsRun&) const = default;
};

/// A turn: the model's tokens, followed in the response by the environment's answer.
struct Turn {
  int64_t num_tokens = 0;              // sampled by the model; they carry loss
  int64_t num_environment_tokens = 0;  // the environment's answer, without loss; 0 in the last turn
  double reward = 0;
  bool is_valid = true;   // the environment could parse the action
  int64_t state = 0;      // hash of the observation before the turn; 32 bits
  bool is_fresh = false;  // starts a new context, whose prompt is the environment's answer before it
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
  int64_t group_index = 0;   // prompt within the step
  int64_t sample_index = 0;  // response within the group
  /// Greedy response at the end of the group; only its reward is used. The JSON key is written only if true.
  bool is_baseline = false;
  std::string prompt;
  std::string response;
  std::vector<int64_t> prompt_ids;
  std::vector<int64_t> response_ids;  // model and environment tokens, interleaved
  std::vector<float> log_probs;       // from the sampler, one per response token, nats; 0 for environment tokens
  std::vector<Turn> turns{};          // partition of response_ids; JSON key only for environment rollouts
  std::vector<WeightsRun> weights{};  // per token run; empty: those of the step's start (no JSON key)
  /// MoE experts chosen per token of prompt and response, except the last token: see Generation::routed_experts. -1 for
  /// the last token of a context that another context follows. JSON key only if recorded.
  std::vector<int16_t> routed_experts{};
  std::string weights_sum{};  // Engine::weights_sum(); only when adapters were sampled (else no JSON key)
  std::string finish_reason;  // stop | length | stop_string | abort
  bool is_judged = true;      // false: score and reward are null in the line, and 0 here
  double score = 0;           // the reward's verdict; equals `reward` if the line has no score
  double reward = 0;          // the score after penalties
  Json reward_detail = Json::object();
  std::string ground_truth;
  std::string tag;
  double difficulty = 0;  // from the prompt's row; 0 if unset

  /// Returns the number of response tokens that the model sampled; environment tokens do not count.
  int64_t num_model_tokens() const { return num_model_tokens(0, std::ssize(response_ids)); }
  /// Counts only response tokens in [begin, end).
  int64_t num_model_tokens(int64_t begin, int64_t end) const;

  /// Returns the number of tokens with an entry in routed_experts.
  int64_t num_routed() const { return std::ssize(prompt_ids) + std::ssize(response_ids) - 1; }

  /// Fields of the message between ranks; to_json() makes the line of a file.
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
  /// The keys that a line has only where they differ from the default.
  template <class F>
  void rare_fields(F& field) {
    field("is_baseline", is_baseline), field("turns", turns), field("weights", weights);
    field("routed_experts", routed_experts), field("weights_sum", weights_sum);
  }
  /// The form of a message between ranks.
  template <class F>
  void fields(F& field) {
    core_fields(field), rare_fields(field), field("is_judged", is_judged);
  }

  bool operator==(const RolloutRecord&) const = default;
};

/// Rounds a number as the file format does. Bug: it is not finite.
double as_written(double x);

/// Returns the JSON object of a line in a rollout file.
Json to_json(const RolloutRecord& record);

/// Parses a record; `origin` is file:line. UserError: a field is missing or mistyped; prompt or response is empty; an
/// id is negative or no integer; log_probs differs from response_ids in length or has a value above 0; reward or score
/// exceeds kLargestReward; routed_experts is not one equally long list per token except the last.
RolloutRecord record_from_json(const Json& json, const std::string& origin);

/// Writes one line per record.
std::string to_lines(const std::vector<RolloutRecord>& records);
/// Parses such lines. UserError: as record_from_json().
std::vector<RolloutRecord> records_from_lines(const std::string& lines, const std::string& origin);
/// Returns e.g. rollouts/step_000012.jsonl for prefix "step_" and number 12.
std::filesystem::path numbered(const std::filesystem::path& folder, const std::string& prefix, int64_t number,
                               const std::string& extension);

/// UserError "origin: group ...": a token id is outside the vocabulary.
void check_vocabulary(const std::vector<RolloutRecord>& records, int64_t vocab_size, const std::string& origin);

/// UserError "origin: group ...": a record has no routed_experts, not `width` entries per token, or an expert index >=
/// `num_experts`.
void check_routed_experts(const std::vector<RolloutRecord>& records, int64_t width, int64_t num_experts,
                          const std::string& origin);

/// Sorts by group_index, then sample_index.
void sort_records(std::vector<RolloutRecord>& records);

}  // namespace roll
