#include "reward/terms.h"

#include <algorithm>

#include "base/error.h"
#include "reward/shaped.h"

namespace roll {

namespace {

struct MadeTerm {
  std::string name;
  double weight;
  bool is_hard;
  std::unique_ptr<RewardFunction> rule;
};

class Terms : public RewardFunction {
 public:
  explicit Terms(std::vector<MadeTerm> terms) : terms_(std::move(terms)) {}

  void check_row(const Json& row) const override {
    for (const MadeTerm& term : terms_) term.rule->check_row(row);
  }
  /// Returns the first term's, like the score; nullopt if any term has none, since that term may be a paid server.
  std::optional<std::string> gold_response(const Json& row) const override {
    for (const MadeTerm& term : terms_)
      if (!term.rule->gold_response(row)) return std::nullopt;
    return terms_.front().rule->gold_response(row);
  }
  void check_files() const override {
    for (const MadeTerm& term : terms_) term.rule->check_files();
  }
  void prepare() override {
    for (MadeTerm& term : terms_) term.rule->prepare();
  }

  bool takes_many() const override {
    return std::ranges::any_of(terms_, [](const MadeTerm& term) { return term.rule->takes_many(); });
  }

  RewardResult score(const RewardQuery& query) override { return std::move(score_all({&query}).front()); }
  /// Skips later terms for a response that an earlier term could not judge.
  std::vector<RewardResult> score_all(const RewardQueries& queries) override {
    std::vector<RewardResult> sums(queries.size());
    for (MadeTerm& term : terms_) {
      RewardQueries open;
      std::vector<RewardResult*> open_sums;
      for (size_t i = 0; i < queries.size(); ++i)
        if (!reward_failure(sums[i].detail)) open.push_back(queries[i]), open_sums.push_back(&sums[i]);
      std::vector<RewardResult> results = term.rule->score_all(open);
      for (size_t i = 0; i < results.size(); ++i) add(term, std::move(results[i]), *open_sums[i]);
    }
    return sums;
  }

 private:
  static void add(const MadeTerm& term, RewardResult result, RewardResult& sum) {
    if (reward_failure(result.detail)) {
      sum = std::move(result);
      return;
    }
    if (term.is_hard) harden(result);
    if (sum.parts.empty()) sum.score = result.score;
    sum.reward += term.weight * result.reward;
    sum.parts.push_back({term.weight, result.reward});
    sum.detail["terms"].push_back(
        {{"type", term.name}, {"reward", json_float(result.reward)}, {"detail", result.detail}});
  }

  std::vector<MadeTerm> terms_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_terms(const RewardArgs& args, const std::string& where,
                                           const std::shared_ptr<SharedByWorkers>& shared) {
  std::vector<MadeTerm> terms;
  for (const RewardTerm& term : args.terms) {
    const std::string term_key = fmt::format("{}terms[{}].", where, terms.size());
    if (!term.type)
      throw user_error("{}type: missing; use one of {}", term_key, fmt::join(Words<RewardType>::all(), ", "));
    if (needs_model(*term.type))
      throw user_error("{}type = {}: its model scores a whole domain; move it to a separate domain", term_key,
                       enum_name(*term.type));
    terms.push_back({.name = std::string(enum_name(*term.type)),
                     .weight = term.weight,
                     .is_hard = term.reward_type == RewardScale::kHard,
                     .rule = make_rule_with_retries(*term.type, term.reward_type, args, term_key, shared)});
  }
  return std::make_unique<Terms>(std::move(terms));
}

}  // namespace roll
