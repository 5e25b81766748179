// Rewards: scores a response, given its prompt and ground truth, with the reasons in a detail.
//
//   make_reward(RewardArgs)  ->  RewardFunction::score(query)  ->  RewardResult
//
// The code shared by all types works in this order:
//   reward_type: hard             numbers of the type become 1 if they are >= 0.5, else 0; "soft" keeps them
//   score                         is the type's verdict; the reward starts from it, or from another number of the type:
//   format_pattern                a PCRE2 expression that the response must match (anywhere; anchor with ^ and $, which
//                                 are the ends of the text; '.' also matches newlines), else the reward is 0
//   format_reward                 if set, a match adds this, and a mismatch costs nothing
//   response_length_penalty_coef  reward -= coef * num_response_tokens / response_length (shaped.cpp)
//   overlong_buffer               a penalty for responses close to response_length (overlong.h)
//   repetition_penalty            a penalty for repeated n-grams of words (repetition.h)
// The detail reports the effect of each. For `terms` instead of a type see terms.h.
// A failed reward is 0 with detail {"error": why, "failure": kind}: a response exceeded `timeout_s`, a program crashed,
// or a number is not finite or beyond kLargestReward. on_reward_error decides how it counts (reward_pool.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "reward/config.h"
#include "reward/parts.h"

namespace roll {

/// A judge's answer about a response.
struct JudgeWords {
  std::string text;
  bool is_cut = false;  // truncated at max_new_tokens
};

struct RewardResult {
  double reward = 0;
  double score = 0;  // verdict: 1 is right, 0 is wrong
  Json detail = Json::object();
  bool is_judged = true;                  // false: the numbers are invalid, exclude them from training
  std::vector<RewardPart> parts{};        // their weighted sum is the reward; empty: a single part
  std::optional<double> retry_after_s{};  // after a failure: pause that the server asks for
};

struct RewardQuery {
  Json row;       // data row; programs get it as "row"
  Json messages;  // prompt as a list of {role, content}
  std::string prompt, response, ground_truth, tag, domain;
  std::string finish_reason;                          // stop | length | stop_string | abort
  int64_t num_response_tokens = 0;                    // generated tokens, in all turns
  std::vector<int64_t> prompt_ids{}, response_ids{};  // token ids; empty: only the texts are known
  uint64_t name = 0;                                  // identifies the response in its step, for any layout
  // Results of models in this program, if the type uses one; nullopt: the response is too long for them.
  std::optional<double> model_score{};
  std::optional<JudgeWords> judge_words{};
  std::optional<RewardResult> from_environment{};  // set for trajectories of an environment
  double model_s = 0;                              // seconds that these models took, for the whole batch of responses
};

/// Returns a result whose reward is the score.
RewardResult judged(double score, Json detail = Json::object());

/// Largest absolute reward. Up to it, float32 holds multiples of 1/16 exactly, and a million squares have a finite sum.
constexpr double kLargestReward = 1e6;

/// Kinds of failed rewards.
enum class RewardFailure {
  kTimeout,      // it took longer than timeout_s
  kCrash,        // the judging program ended
  kUnparsable,   // the judge's answer could not be read or used
  kUnavailable,  // the judge could not be reached, or refused
  kUnjudged,     // nothing to judge by, or the judge itself reports an error
};
constexpr auto enum_names(RewardFailure) {
  return std::to_array<Named<RewardFailure>>({{RewardFailure::kTimeout, "timeout"},
                                              {RewardFailure::kCrash, "crash"},
                                              {RewardFailure::kUnparsable, "unparsable"},
                                              {RewardFailure::kUnavailable, "unavailable"},
                                              {RewardFailure::kUnjudged, "unjudged"}});
}

/// Error text for a row with a blank ground truth.
constexpr const char* kNoGroundTruth = "the row has no ground_truth";

/// Error text for a response that is too long for a judging model.
constexpr const char* kTooLongForModel = "prompt and response are longer than the judging model can read";

/// Returns a failed reward.
RewardResult failed_reward(RewardFailure kind, const std::string& why);
RewardResult timed_out();
/// Returns the failure in a detail, also in older files without its kind; nullopt if there is none.
std::optional<RewardFailure> reward_failure(const Json& detail);

/// Counts failed rewards.
struct RewardFaults {
  std::map<RewardFailure, int64_t> counts;
  std::string first_error;  // error of the first failure that is not a timeout

  /// Counts the failure in a result's detail, if there is one.
  void add(const Json& detail);
  /// Returns the number of failures of one kind.
  int64_t of(RewardFailure kind) const;
  int64_t total() const;
  int64_t errors() const { return total() - of(RewardFailure::kTimeout); }
  /// Returns "2 took longer than timeout_s, 3 failed (2 crash, 1 unparsable), the first: ...".
  std::string text() const;
};

using RewardQueries = std::vector<const RewardQuery*>;

/// A reward of one type. Not thread-safe: one object per thread.
class RewardFunction {
 public:
  virtual ~RewardFunction() = default;
  /// Checks that responses to this data row can be judged; cheap. UserError "column = value: rule; remedy" (without the
  /// row's position): they cannot.
  virtual void check_row(const Json& /*row*/) const {}
  /// Returns a response made from the row's ground truth, which must score 1; nullopt if the type cannot make one.
  virtual std::optional<std::string> gold_response(const Json& /*row*/) const { return std::nullopt; }
  /// Returns true if the user's code computes the reward, so that only a call shows whether it works.
  virtual bool is_user_code() const { return false; }
  /// Checks files without running them. UserError: a file that the reward names is missing or unusable.
  virtual void check_files() const {}
  /// Prepares for the first query. UserError: as for check_files(), or opening the files shows an error.
  virtual void prepare() { check_files(); }
  /// Scores a response; wrong or unreadable ones are no error. UserError: an external program is broken (command.h).
  virtual RewardResult score(const RewardQuery& query) = 0;
  /// Returns whether score_all() sends many responses at once, so that waiting ones are batched. Valid after prepare().
  virtual bool takes_many() const { return false; }
  /// Returns one result per query, in order. UserError: as for score().
  virtual std::vector<RewardResult> score_all(const RewardQueries& queries);
};

/// Makes a type's rule with its time limit and retries. UserError: as for make_rule(), or the type has no such scale.
std::unique_ptr<RewardFunction> make_patient_rule(const RewardType& type, RewardScale scale, const RewardArgs& args,
                                                  const std::string& where, std::shared_ptr<SharedByWorkers> shared);

/// Makes the reward of a domain. `response_length`: longest response in tokens, for length penalties. `where`: prefix
/// of keys in messages, "rewards.math." or "--" for flags. `shared`: nullptr for a single worker. UserError: the type
/// is missing or contradicts worker_cls, a pattern does not compile, a command is missing, ...
std::unique_ptr<RewardFunction> make_reward(const RewardArgs& args, int64_t response_length, const std::string& where,
                                            std::shared_ptr<SharedByWorkers> shared = nullptr);

}  // namespace roll
