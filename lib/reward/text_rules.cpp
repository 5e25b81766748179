// exact_match and regex: rules that compare text.
#include <algorithm>

#include "base/error.h"
#include "reward/pattern.h"
#include "reward/rules.h"

namespace roll {

namespace {

std::string stripped(std::string_view s) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const size_t begin = s.find_first_not_of(kSpace);
  return begin == std::string_view::npos ? "" : std::string(s.substr(begin, s.find_last_not_of(kSpace) - begin + 1));
}

/// ASCII letters only: what "ignore_case" promises without a locale.
std::string folded(std::string s, bool fold) {
  if (fold) std::transform(s.begin(), s.end(), s.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return s;
}

class ExactMatch : public RewardFunction {
 public:
  explicit ExactMatch(const RewardOptions& options) : options_(options) {}

  RewardResult score(const RewardQuery& query) override {
    const std::string answer = part(query.response);
    const bool equal = folded(answer, options_.ignore_case) == folded(stripped(query.ground_truth), options_.ignore_case);
    return {equal ? 1.0 : 0.0, Json{{"answer", answer}, {"rule", options_.compare}}};
  }

 private:
  std::string part(const std::string& response) const {
    const std::string text = stripped(response);
    if (options_.compare == "whole") return text;
    if (options_.compare == "last_line") return stripped(text.substr(text.rfind('\n') + 1));
    const size_t at = text.rfind(options_.marker);
    return at == std::string::npos ? "" : stripped(text.substr(at + options_.marker.size()));
  }

  RewardOptions options_;
};

class RegexRule : public RewardFunction {
 public:
  explicit RegexRule(const RewardOptions& options)
      : pattern_(options.pattern, options.origin + ".pattern", options.ignore_case), ignore_case_(options.ignore_case) {}

  RewardResult score(const RewardQuery& query) override {
    try {
      const auto groups = pattern_.last_match(query.response);
      if (!groups) return {0, Json{{"rule", "no match"}}};
      if (groups->size() < 2) return {1, Json{{"answer", (*groups)[0]}, {"rule", "match"}}};
      const std::string answer = stripped((*groups)[1]);
      const bool equal = folded(answer, ignore_case_) == folded(stripped(query.ground_truth), ignore_case_);
      return {equal ? 1.0 : 0.0, Json{{"answer", answer}, {"rule", "group"}}};
    } catch (const MatchLimitReached&) {
      return {0, Json{{"error", "timeout"}}};
    }
  }

 private:
  Pattern pattern_;
  bool ignore_case_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_exact_match(const RewardOptions& options) {
  const bool known = options.compare == "whole" || options.compare == "last_line" || options.compare == "after_marker";
  if (!known)
    throw user_error("{}.compare = {}: not known; use whole, last_line or after_marker", options.origin, options.compare);
  if (options.compare == "after_marker" && options.marker.empty())
    throw user_error("{}.marker = \"\": the comparison after_marker needs a marker, as \"####\"", options.origin);
  return std::make_unique<ExactMatch>(options);
}

std::unique_ptr<RewardFunction> make_regex(const RewardOptions& options) {
  if (options.pattern.empty()) throw user_error("{}.pattern: missing; the regex reward needs one", options.origin);
  return std::make_unique<RegexRule>(options);
}

}  // namespace roll
