// One response after the rewards: a line of rollouts/step_NNNNNN.jsonl, a public format. Its numbers have 9 significant
// digits, and a record is made with those, so that a replayed step equals the sampled one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Neighbouring tokens of a response that were drawn by the same weights.
struct WeightsRun {
  int64_t version = 0;  // after so many steps
  int64_t num_tokens = 0;
  template <class F>
  void fields(F& field) {
    field("version", version), field("num_tokens", num_tokens);
  }
  bool operator==(const WeightsRun&) const = default;
};

/// What a model said in an environment, and what that answered, which lies behind it in the response.
struct Turn {
  int64_t num_tokens = 0;              // of the model, which carry loss
  int64_t num_environment_tokens = 0;  // of the environment, which carry none; the last turn has 0
  double reward = 0;
  bool is_valid = true;   // the environment understood it
  int64_t state = 0;      // equal where the turn began with the same observation; 32 bits
  bool is_fresh = false;  // it has a context of its own, whose prompt is what the environment said before it
  template <class F>
  void fields(F& field) {
    field("num_tokens", num_tokens), field("num_environment_tokens", num_environment_tokens);
    field("reward", reward), field("is_valid", is_valid), field("state", state), field("is_fresh", is_fresh);
  }
  bool operator==(const Turn&) const = default;
};

struct RolloutRecord {
  int64_t step = 0;
  std::string domain;
  std::string prompt_id;
  int64_t group_index = 0;   // which prompt of the step
  int64_t sample_index = 0;  // which response of the group
  /// Greedy, and the last of the group: only its reward is used. Other lines do not have the key.
  bool is_baseline = false;
  std::string prompt;
  std::string response;
  std::vector<int64_t> prompt_ids;
  std::vector<int64_t> response_ids;  // an environment's between the model's
  std::vector<float> log_probs;       // the sampler's, one per response token, nats; 0 for an environment's
  std::vector<Turn> turns{};          // of a response in an environment, whose tokens they share out; only then a key
  std::vector<WeightsRun> weights{};  // that drew them; none: those of the step's beginning. Only then a line's key
  /// The experts that the tokens of prompt and response went through, one list for each but the last, which nothing was
  /// drawn from: Generation::routed_experts; -1 of the last of a context before it. Only where they are recorded with a
  /// line's key.
  std::vector<int16_t> routed_experts{};
  std::string weights_sum{};  // Engine::weights_sum(); only where adapters were sampled with a line's key
  std::string finish_reason;  // stop | length | stop_string | abort
  bool is_judged = true;      // false: score and reward are null in the line, and 0 here
  double score = 0;           // the reward's verdict; a line without it: the reward
  double reward = 0;          // the score after penalties
  Json reward_detail = Json::object();
  std::string ground_truth;
  std::string tag;
  double difficulty = 0;  // of the prompt's row; 0 where a line does not say

  /// Tokens of the response that the model drew: its length. What an environment says between turns is none of it.
  int64_t num_model_tokens() const { return num_model_tokens(0, std::ssize(response_ids)); }
  /// Those of the response's tokens [begin, end).
  int64_t num_model_tokens(int64_t begin, int64_t end) const;

  /// Tokens that routed_experts has lists of.
  int64_t num_routed() const { return std::ssize(prompt_ids) + std::ssize(response_ids) - 1; }

  /// The keys of every line, in their order.
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

/// A number rounded as in a line. Bug: it is not finite.
double as_written(double x);

Json to_json(const RolloutRecord& record);

/// `origin` is file:line. UserError: a missing or mistyped field, an empty prompt or response, ids that are not
/// non-negative integers, log_probs whose number is not that of response_ids or that are above 0, a reward or score
/// beyond kLargestReward, routed_experts that are not a list of equally many numbers for each token but the last.
RolloutRecord record_from_json(const Json& json, const std::string& origin);

/// One line per record.
std::string to_lines(const std::vector<RolloutRecord>& records);
std::vector<RolloutRecord> records_from_lines(const std::string& lines, const std::string& origin);
/// rollouts/step_000012.jsonl for prefix "step_", number 12.
std::filesystem::path numbered(const std::filesystem::path& folder, const std::string& prefix, int64_t number,
                               const std::string& extension);

/// UserError "origin: group ..." for a token id that a model of this vocabulary does not have.
void check_vocabulary(const std::vector<RolloutRecord>& records, int64_t vocab_size, const std::string& origin);

/// UserError "origin: group ..." for a record without routed_experts, or with others than a model with so many of its
/// mixtures' experts has: `width` of a token, each below `num_experts`.
void check_routed_experts(const std::vector<RolloutRecord>& records, int64_t width, int64_t num_experts,
                          const std::string& origin);

/// Data order: group after group, sample after sample.
void sort_records(std::vector<RolloutRecord>& records);

}  // namespace roll
