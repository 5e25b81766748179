// Evaluates [ ] and [[ ]].
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "shell/interpreter.h"
#include "shell/pattern.h"

namespace roll::shell {

namespace {

constexpr std::array<std::string_view, 15> kComparisons{"=",   "==",  "!=",  "=~",  "<",   ">",   "-eq", "-ne",
                                                        "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"};

bool compares_texts(std::string_view sign) {
  return std::ranges::find(kComparisons.begin(), kComparisons.begin() + 3, sign) != kComparisons.begin() + 3;
}

}  // namespace

/// Evaluates the words of a test. In [[ ]], quoted text is never an operator.
class Interpreter::TestReader {
 public:
  struct Token {
    std::string written, value;  // after = etc. the value is a pattern
  };
  /// `or_sign` and `and_sign`: "||" and "&&", or "-o" and "-a" in [ ].
  TestReader(Interpreter& shell, std::vector<Token> tokens, std::string_view or_sign, std::string_view and_sign)
      : shell_(shell), tokens_(std::move(tokens)), or_sign_(or_sign), and_sign_(and_sign) {}

  Truth evaluate_all() {
    const Truth truth = list();
    return at_ == tokens_.size() ? truth : Truth::kUnknown;
  }

 private:
  bool take(std::string_view sign) {
    const bool is_there = at_ < tokens_.size() && tokens_[at_].written == sign;
    at_ += is_there ? 1 : 0;
    return is_there;
  }
  Truth list() {
    const auto deep = shell_.deeper();
    Truth any = Truth::kNo;
    do {
      Truth all = negation();
      while (take(and_sign_)) all = and_(all, negation());
      any = or_(any, all);
    } while (take(or_sign_));
    return any;
  }
  Truth negation() {
    bool negates = false;
    while (at_ + 1 < tokens_.size() && take("!")) negates = !negates;
    const Truth truth = operand();
    return negates ? not_(truth) : truth;
  }
  Truth operand() {
    if (at_ == tokens_.size()) return Truth::kNo;
    const Token& first = tokens_[at_++];
    if (at_ + 1 < tokens_.size() && std::ranges::find(kComparisons, tokens_[at_].written) != kComparisons.end()) {
      at_ += 2;
      return shell_.compare(first.value, tokens_[at_ - 2].written, tokens_[at_ - 1].value);
    }
    if (first.written == "(") {
      const Truth truth = list();
      return take(")") ? truth : Truth::kUnknown;
    }
    const bool is_check = first.written.size() == 2 && first.written[0] == '-' && at_ < tokens_.size();
    return is_check ? shell_.check(first.written, tokens_[at_++].value) : shell_.check("-n", first.value);
  }

  Interpreter& shell_;
  std::vector<Token> tokens_;
  std::string_view or_sign_, and_sign_;
  size_t at_ = 0;
};

/// Evaluates `test` and [ ].
Truth Interpreter::test(const Fields& words) {
  std::vector<TestReader::Token> tokens;
  for (const Field& word : words) {
    const bool is_pattern = !tokens.empty() && compares_texts(tokens.back().written);
    tokens.push_back({word.text, is_pattern ? as_pattern(word.text) : word.text});
  }
  if (words[0].text == "[" && words.back().text == "]") tokens.pop_back();
  tokens.erase(tokens.begin());
  return TestReader(*this, std::move(tokens), "-o", "-a").evaluate_all();
}

/// Evaluates the words after [[, through ]].
Truth Interpreter::test_words() {
  std::vector<TestReader::Token> tokens;
  for (cursor_.skip_lines(); !cursor_.take_word("]]"); cursor_.skip_lines()) {
    static constexpr std::array kSigns{"&&", "||", "(", ")", "<", ">"};
    if (cursor_.is_end()) throw cursor_.error("`]]` is missing");
    const Cursor begin = cursor_;
    const std::string previous = tokens.empty() ? "" : tokens.back().written;
    Builder ignored;
    std::string value;
    if (previous == "=~")
      read_text(ignored, " \t\r\n", /*in_quotes=*/false, '(');
    else if (std::ranges::none_of(kSigns, [&](const char* each) { return cursor_.take(each); }))
      value = read_value(compares_texts(previous));
    if (cursor_.is_same(begin)) throw cursor_.error("in [[ ]]");
    tokens.push_back({cursor_.since(begin), value});
  }
  return runs() ? TestReader(*this, std::move(tokens), "||", "&&").evaluate_all() : Truth::kUnknown;
}

/// `right` is a pattern if `sign` compares texts.
Truth Interpreter::compare(const std::string& left, const std::string& sign, const std::string& right) {
  const auto a = unknowns_.known(left), b = unknowns_.known(right);
  if (!a || !b) return Truth::kUnknown;
  spend(a->size() + b->size());
  if (compares_texts(sign)) {
    spend(a->size() * b->size());
    return to_truth(matches_pattern(*a, *b) == (sign != "!="));
  }
  if (sign == "<") return to_truth(*a < *b);
  if (sign == ">") return to_truth(*a > *b);
  static const std::map<std::string_view, std::string_view> kNumbers{{"-eq", "=="}, {"-ne", "!="}, {"-lt", "<"},
                                                                     {"-le", "<="}, {"-gt", ">"},  {"-ge", ">="}};
  const auto number = kNumbers.find(sign);
  if (number == kNumbers.end() || a->empty() || b->empty()) return Truth::kUnknown;
  return truth_of_number(parse_number(fmt::format("({}) {} ({})", *a, number->second, *b)));
}

Truth Interpreter::check(const std::string& sign, const std::string& operand) {
  auto is_empty = unknowns_.is_empty(operand);
  std::set<std::string> unset_names;
  unknowns_.filled(operand, [&](const Unknown& unknown) {
    if (unknown.may_be_set()) unset_names.insert(unknown.text);
    return std::string();
  });
  if (std::ranges::any_of(unset_names, [&](const std::string& name) { return reading_.assumed_set.contains(name); }))
    is_empty = false;
  else if (is_empty == true && !unset_names.empty())
    missing_ = unset_names;
  if (sign == "-z") return to_truth(is_empty);
  if (sign == "-n") return not_(to_truth(is_empty));
  if (sign == "-v") return to_truth(find(operand) || is_always_set(operand));
  return is_empty == true ? Truth::kNo : Truth::kUnknown;  // file tests
}

}  // namespace roll::shell
