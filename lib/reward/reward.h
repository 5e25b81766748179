// Rewards: the score of a response, given its prompt and ground truth, with the reasons for it.
//
//   make_reward(RewardArgs)  ->  RewardFunction::score(query)  ->  RewardResult
//
// What every type shares is done here, in this order:
//   reward_type: hard             the rule's numbers become 1 when they are >= 0.5, else 0; "soft" leaves them
//   score                         is the rule's verdict; the reward starts from it, or from another number of the rule:
//   format_pattern                a PCRE2 expression that the response must match (anywhere; anchor with ^ and $, which
//                                 are the ends of the text; '.' also matches newlines), else the reward is 0
//   format_reward                 with it, a match adds this, and no match costs nothing
//   response_length_penalty_coef  reward -= coef * num_response_tokens / response_length (shaped.cpp)
//   overlong_buffer               a penalty of responses that come near response_length (overlong.h)
//   repetition_penalty            a penalty of repeated n-grams of words (repetition.h)
// The detail says what each of these did. `terms` instead of a type: terms.h.
// A reward that could not be had is 0 with detail {"error": why, "failure": kind}: a response may take `timeout_s`, a
// program may crash, a number must be finite and within kLargestReward. What becomes of it is on_reward_error's affair
// (reward_pool.h).
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

/// The answer of a judge about a response.
struct JudgeWords {
  std::string text;
  bool is_cut = false;  // they ended at max_new_tokens
};

struct RewardResult {
  double reward = 0;
  double score = 0;  // the verdict: 1 is right, 0 is wrong
  Json detail = Json::object();
  bool is_judged = true;                  // false: the numbers mean nothing, and nobody may learn from them
  std::vector<RewardPart> parts{};        // whose weighted sum the reward is; none: it is one
  std::optional<double> retry_after_s{};  // of a failure: the pause that the server asks for
};

struct RewardQuery {
  Json row;       // the data row; given to programs as "row"
  Json messages;  // what was asked: a list of {role, content}
  std::string prompt, response, ground_truth, tag, domain;
  std::string finish_reason;                          // stop | length | stop_string | abort
  int64_t num_response_tokens = 0;                    // that the model drew, in all turns
  std::vector<int64_t> prompt_ids{}, response_ids{};  // tokens; none: only the texts are known
  uint64_t name = 0;                                  // among the responses of a step, whatever the layout
  // Results of models in this program, where the type uses one; nullopt: the response is longer than they can read.
  std::optional<double> model_score{};
  std::optional<JudgeWords> judge_words{};
  std::optional<RewardResult> from_environment{};  // of a response that was played in one
  double model_s = 0;  // seconds that these models took, for all responses that were judged together
};

/// A result whose reward is the score.
RewardResult judged(double score, Json detail = Json::object());

/// Squares of such rewards, summed over a million responses, and their sixteenths are float32 numbers.
constexpr double kLargestReward = 1e6;

/// Why a reward could not be had.
enum class RewardFailure {
  kTimeout,      // it took longer than timeout_s
  kCrash,        // what judges ended
  kUnparsable,   // what judges answered, but not so that it could be read or used
  kUnavailable,  // what judges could not be reached, or refused
  kUnjudged,     // there was nothing to judge by, or the judge says itself that it cannot
};
constexpr auto names_of(RewardFailure) {
  return std::to_array<Named<RewardFailure>>({{RewardFailure::kTimeout, "timeout"},
                                              {RewardFailure::kCrash, "crash"},
                                              {RewardFailure::kUnparsable, "unparsable"},
                                              {RewardFailure::kUnavailable, "unavailable"},
                                              {RewardFailure::kUnjudged, "unjudged"}});
}

/// The failure of a row with a blank ground truth, which no response equals.
constexpr const char* kNoGroundTruth = "the row has no ground_truth";

/// Why a model of this program has no answer.
constexpr const char* kTooLongForModel = "prompt and response are longer than the judging model can read";

/// The result of a reward that could not be had.
RewardResult failed_reward(RewardFailure kind, const std::string& why);
RewardResult timed_out();
/// The failure that a detail describes, also one of an older file without its kind. nullopt: none.
std::optional<RewardFailure> failure_of(const Json& detail);

/// Counts rewards that could not be had.
struct RewardFaults {
  std::map<RewardFailure, int64_t> counts;
  std::string first_error;  // the first that is no time-out

  void add(const Json& detail);
  int64_t of(RewardFailure kind) const;
  int64_t total() const;
  int64_t errors() const { return total() - of(RewardFailure::kTimeout); }
  /// "2 took longer than timeout_s, 3 failed (2 crash, 1 unparsable), the first: ..."
  std::string text() const;
};

using RewardQueries = std::vector<const RewardQuery*>;

/// One kind of reward. Not thread-safe: one object per thread.
class RewardFunction {
 public:
  virtual ~RewardFunction() = default;
  /// Whether a response to this data row could be judged; cheap. UserError "column = value: rule; remedy", without the
  /// row's place.
  virtual void check_row(const Json& /*row*/) const {}
  /// A response made of the row's ground truth, which must score 1; nullopt: the type cannot make one.
  virtual std::optional<std::string> gold_response(const Json& /*row*/) const { return std::nullopt; }
  /// Whether code of the user judges, so that only a call tells whether it works.
  virtual bool is_users_own() const { return false; }
  /// UserError: a file that the reward names is missing or unusable, as far as that shows without running it.
  virtual void check_files() const {}
  /// Before the first query. UserError: as check_files(), and what only opening the files shows.
  virtual void prepare() { check_files(); }
  /// UserError when an external program is broken (command.h); a wrong or unreadable response is a reward, never an
  /// error.
  virtual RewardResult score(const RewardQuery& query) = 0;
  /// After prepare(): whether score_all() asks once for many responses, so that all which wait are asked together.
  virtual bool takes_many() const { return false; }
  /// Returns one result per query, in order. UserError as score().
  virtual std::vector<RewardResult> score_all(const RewardQueries& queries);
};

/// A type's rule with its time limit and its retries. UserError as make_rule(), and a scale that the type does not
/// have.
std::unique_ptr<RewardFunction> make_patient_rule(const RewardType& type, RewardScale scale, const RewardArgs& args,
                                                  const std::string& where, std::shared_ptr<SharedByWorkers> shared);

/// response_length: the longest response in tokens, for the length penalty. `where` stands before a key in error
/// messages: "rewards.math.", or "--" for flags. shared: nullptr where there is one worker. UserError: no type, or one
/// that worker_cls contradicts; a pattern that does not compile, no command, ...
std::unique_ptr<RewardFunction> make_reward(const RewardArgs& args, int64_t response_length, const std::string& where,
                                            std::shared_ptr<SharedByWorkers> shared = nullptr);

}  // namespace roll
