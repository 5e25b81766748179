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
  if (fold)
    std::transform(s.begin(), s.end(), s.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return s;
}

class ExactMatch : public RewardFunction {
 public:
  explicit ExactMatch(const RewardArgs& args) : args_(args) {}

  RewardResult score(const RewardQuery& query) override {
    const std::string answer = part(query.response);
    const bool equal = folded(answer, args_.ignore_case) == folded(stripped(query.ground_truth), args_.ignore_case);
    return {equal ? 1.0 : 0.0, Json{{"answer", answer}, {"rule", name_of(args_.compare)}}};
  }

 private:
  std::string part(const std::string& response) const {
    const std::string text = stripped(response);
    if (args_.compare == AnswerPart::kWhole) return text;
    if (args_.compare == AnswerPart::kLastLine) return stripped(text.substr(text.rfind('\n') + 1));
    const size_t at = text.rfind(args_.marker);
    return at == std::string::npos ? "" : stripped(text.substr(at + args_.marker.size()));
  }

  RewardArgs args_;
};

class RegexRule : public RewardFunction {
 public:
  RegexRule(const RewardArgs& args, const std::string& where)
      : pattern_(*args.pattern, where + "pattern", args.timeout_s, args.ignore_case), ignore_case_(args.ignore_case) {}

  RewardResult score(const RewardQuery& query) override {
    try {
      const auto groups = pattern_.last_match(query.response);
      if (!groups) return {0, Json{{"rule", "no match"}}};
      if (groups->size() < 2) return {1, Json{{"answer", (*groups)[0]}, {"rule", "match"}}};
      const std::string answer = stripped((*groups)[1]);
      const bool equal = folded(answer, ignore_case_) == folded(stripped(query.ground_truth), ignore_case_);
      return {equal ? 1.0 : 0.0, Json{{"answer", answer}, {"rule", "group"}}};
    } catch (const MatchFailed&) {
      return {0, Json{{"error", "timeout"}}};
    }
  }

 private:
  AnswerPattern pattern_;
  bool ignore_case_;
};

}  // namespace

std::unique_ptr<RewardFunction> make_exact_match(const RewardArgs& args, const std::string& where) {
  if (args.compare == AnswerPart::kAfterMarker && args.marker.empty())
    throw user_error("{}marker = \"\": compare after_marker needs a marker, as \"####\"", where);
  return std::make_unique<ExactMatch>(args);
}

std::unique_ptr<RewardFunction> make_regex(const RewardArgs& args, const std::string& where) {
  if (!args.pattern || args.pattern->empty())
    throw user_error("{}pattern: missing; the regex reward needs one, as \"answer: (.*)\"", where);
  return std::make_unique<RegexRule>(args, where);
}

}  // namespace roll
