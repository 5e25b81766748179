#include "reward/terms.h"

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
  /// The first term's, as the score is; none beside a term that makes none, for that may be a server that costs.
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

  RewardResult score(const RewardQuery& query) override {
    double sum = 0, first_score = 0;
    Json details = Json::array();
    std::vector<RewardPart> parts;
    for (MadeTerm& term : terms_) {
      RewardResult result = term.rule->score(query);
      if (failure_of(result.detail)) return result;
      if (term.is_hard) harden(result);
      if (details.empty()) first_score = result.score;
      sum += term.weight * result.reward;
      parts.push_back({term.weight, result.reward});
      details.push_back({{"type", term.name}, {"reward", json_float(result.reward)}, {"detail", result.detail}});
    }
    return {.reward = sum, .score = first_score, .detail = Json{{"terms", details}}, .parts = std::move(parts)};
  }

 private:
  std::vector<MadeTerm> terms_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_terms(const RewardArgs& args, const std::string& where,
                                           const std::shared_ptr<SharedByWorkers>& shared) {
  std::vector<MadeTerm> terms;
  for (const RewardTerm& term : args.terms) {
    const std::string here = fmt::format("{}terms[{}].", where, terms.size());
    if (!term.type) throw user_error("{}type: missing; use one of {}", here, fmt::join(Words<RewardType>::all(), ", "));
    if (needs_model(*term.type))
      throw user_error("{}type = {}: its model scores a whole domain; give it a domain of its own", here,
                       name_of(*term.type));
    terms.push_back({.name = std::string(name_of(*term.type)),
                     .weight = term.weight,
                     .is_hard = term.reward_type == RewardScale::kHard,
                     .rule = make_patient_rule(*term.type, term.reward_type, args, here, shared)});
  }
  return std::make_unique<Terms>(std::move(terms));
}

}  // namespace roll
