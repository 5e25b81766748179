// Rewards: scores a response, given its prompt and ground truth. The result has a reward (for training), a score (1 is
// right, 0 is wrong; for metrics and filters) and a detail with the reasons, a JSON object.
//
//   make_reward(RewardArgs)  ->  RewardFunction::score(query)  ->  RewardResult
//
// A reward type (types.h) computes both numbers first. Then code shared by all types (shaped.cpp) applies these keys,
// in this order, unless the reward failed; all but the first leave the score as it is:
//   reward_type: hard             reward and score become 1 if they are >= 0.5, else 0 (soft keeps them)
//   format_pattern                a PCRE2 expression that the response must match (anywhere; anchor with ^ and $, which
//                                 are the ends of the text; '.' also matches newlines), else the reward is 0
//   format_reward                 if set: a match of format_pattern adds this, and a mismatch changes nothing
//   response_length_penalty_coef  reward -= coef * num_response_tokens / response_length (crossthinkqa: a penalty for
//                                 short responses instead; shaped.cpp)
//   overlong_buffer               a penalty for responses close to response_length (overlong.h)
//   repetition_penalty            a penalty for repeated n-grams of words (repetition.h)
// The detail reports the effect of each. Several types can be combined as `terms` (terms.h).
//
// A failed reward is a result with reward and score 0 and detail {"error": why, "failure": kind}. It means that the
// response could not be judged: the type exceeded `timeout_s`, a program crashed, a number is beyond kLargestReward,
// and so on. The key on_reward_error decides how the response counts (reward_pool.h); by default it is not trained on.
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

/// The answer of a judging language model about a response.
struct JudgeWords {
  std::string text;
  bool is_cut = false;  // truncated at max_new_tokens
};

struct RewardResult {
  double reward = 0;
  double score = 0;                       // 1 is right, 0 is wrong; models and programs may give any number
  Json detail = Json::object();           // reasons, by name
  bool is_judged = true;                  // false: the numbers are invalid, exclude them from training
  std::vector<RewardPart> parts{};        // parts whose weighted sum is the reward; empty: a single part
  std::optional<double> retry_after_s{};  // after a failure: pause in seconds that the server asks for
};

/// One response to score.
struct RewardQuery {
  Json row;                                           // the data row, with all its columns
  Json messages;                                      // the prompt as a list of {"role", "content"}
  std::string prompt, response;                       // texts
  std::string ground_truth, tag;                      // columns of the row; "" if missing
  std::string domain;                                 // the domain's name
  std::string finish_reason;                          // stop | length | stop_string | abort
  int64_t num_response_tokens = 0;                    // generated tokens, in all turns
  std::vector<int64_t> prompt_ids{}, response_ids{};  // token ids; empty: only the texts are known
  uint64_t name = 0;  // unique number of the response in its step; does not depend on the number of ranks

  // Results that exist before the reward is asked; nullopt if the type needs none, or the response is too long for the
  // judging model.
  std::optional<double> model_score{};             // type reward_model
  std::optional<JudgeWords> judge_words{};         // type llm_judge with a judge in this program
  std::optional<RewardResult> from_environment{};  // type environment
  double model_s = 0;  // seconds that a judging model in this program took, for the whole batch with this response
};

/// Returns a result with this score and the same number as reward.
RewardResult judged(double score, Json detail = Json::object());

/// Largest absolute reward. Up to it, float32 holds multiples of 1/16 exactly, and a million squares have a finite sum.
constexpr double kLargestReward = 1e6;

/// Kinds of failed rewards, for the detail's "failure".
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

/// Returns a failed reward with the detail {"error": why, "failure": kind}.
RewardResult failed_reward(RewardFailure kind, const std::string& why);
/// Returns a failed reward of kind kTimeout with the error "timeout".
RewardResult timed_out();
/// Returns the kind of the failed reward that has this detail; nullopt if the detail has no failure. An "error" without
/// "failure", as in older files, is kTimeout if it is "timeout", else kUnjudged.
std::optional<RewardFailure> reward_failure(const Json& detail);

/// Counts failed rewards.
struct RewardFaults {
  std::map<RewardFailure, int64_t> counts;  // number of failures; kinds without any are missing
  std::string first_error;                  // error of the first failure that is not a timeout; "": none

  /// Takes the detail of any result, and counts its failure if it has one.
  void add(const Json& detail);
  /// Returns the number of failures of one kind.
  int64_t count(RewardFailure kind) const;
  int64_t total() const;
  /// Returns the number of failures that are not timeouts.
  int64_t errors() const { return total() - count(RewardFailure::kTimeout); }
  /// Returns "2 took longer than timeout_s, 3 failed (2 crash, 1 unparsable), the first: ..."; "" without failures.
  std::string text() const;
};

using RewardQueries = std::vector<const RewardQuery*>;

/// Scores responses of one domain. Call prepare() once, then score() or score_all() any number of times; check_files(),
/// check_row() and gold_response() may be called at any time. Not thread-safe: one object per thread.
class RewardFunction {
 public:
  virtual ~RewardFunction() = default;
  /// Throws UserError "column = value: rule; remedy" if responses to this data row cannot be judged, such as for a
  /// missing ground truth. Cheap. The message does not say where the row is, which callers add.
  virtual void check_row(const Json& /*row*/) const {}
  /// Returns a response made from the row's ground truth, which should score 1; nullopt if the type cannot make one.
  /// Used to check the reward and the data before a run.
  virtual std::optional<std::string> gold_response(const Json& /*row*/) const { return std::nullopt; }
  /// Returns true if the user's code computes the reward, so that only a call shows whether it works.
  virtual bool is_user_code() const { return false; }
  /// Throws UserError if a file that the configuration names is missing or unusable. Does not run the user's code.
  virtual void check_files() const {}
  /// Prepares for the first query, such as by loading a library or a Python function. Throws UserError if that fails,
  /// and for the reasons of check_files().
  virtual void prepare() { check_files(); }
  /// Scores a response. A wrong or unreadable response gives a low reward, one that cannot be judged a failed reward;
  /// neither throws. Throws UserError if an external program is broken (command.h) or a server rejects every request.
  virtual RewardResult score(const RewardQuery& query) = 0;
  /// Returns whether score_all() handles many responses at once, faster than one by one. Valid after prepare().
  virtual bool takes_many() const { return false; }
  /// Returns one result per query, in order. Throws like score(), which it calls for each query by default.
  virtual std::vector<RewardResult> score_all(const RewardQueries& queries);
};

/// Makes the reward of one type (make_rule() in types.h) with a time limit and retries: args.timeout_s and
/// args.max_retries, else the type's usual_patience(). `scale`: only kLoose and kStrict have an effect; the caller
/// applies kHard and the other keys listed at the top of this file. `where`, `shared`: as for make_reward(), but
/// `shared` is not null. Throws UserError like make_rule(), or if the type does not have this scale.
std::unique_ptr<RewardFunction> make_rule_with_retries(const RewardType& type, RewardScale scale,
                                                       const RewardArgs& args, const std::string& where,
                                                       std::shared_ptr<SharedByWorkers> shared);

/// Makes the reward of a domain. `response_length`: length limit of responses in tokens, for length penalties; <= 0 if
/// unknown. `where`: prefix of keys in messages, "rewards.math." or "--" for flags. `shared`: state shared by all
/// workers of the domain; nullptr for a single worker. Throws UserError if the type is missing or contradicts
/// worker_cls, a length penalty is set without response_length, a pattern does not compile, a command is empty, ...
std::unique_ptr<RewardFunction> make_reward(const RewardArgs& args, int64_t response_length, const std::string& where,
                                            std::shared_ptr<SharedByWorkers> shared = nullptr);

}  // namespace roll
