// [ ] and [[ ]].
#include <algorithm>
#include <array>

#include "shell/interpreter.h"
#include "shell/levels.h"
#include "shell/pattern.h"

namespace roll::shell {

namespace {

Truth truth_of(bool is_true) {
  return is_true ? Truth::kYes : Truth::kNo;
}
Truth not_(Truth a) {
  return a == Truth::kUnknown ? a : truth_of(a == Truth::kNo);
}
Truth and_(Truth a, Truth b) {
  if (a == Truth::kNo || b == Truth::kNo) return Truth::kNo;
  return a == Truth::kYes && b == Truth::kYes ? Truth::kYes : Truth::kUnknown;
}
Truth or_(Truth a, Truth b) {
  return not_(and_(not_(a), not_(b)));
}

constexpr std::array<std::string_view, 15> kComparisons{"=",   "==",  "!=",  "=~",  "<",   ">",   "-eq", "-ne",
                                                        "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"};

bool is_comparison(std::string_view word) {
  return std::ranges::find(kComparisons, word) != kComparisons.end();
}

}  // namespace

/// Words up to the end, which binds least first. In [[ ]] what stands between quotes is no sign; there the words are
/// expanded where they are reached.
class Interpreter::TestReader {
 public:
  struct Token {
    std::string text;  // of [ ]: expanded
    const Word* word = nullptr;
  };
  TestReader(Interpreter& shell, std::vector<Token> tokens, Place place)
      : shell_(shell), tokens_(std::move(tokens)), place_(place) {}

  Truth whole() {
    const Truth truth = either();
    return at_ == tokens_.size() ? truth : Truth::kUnknown;
  }

 private:
  bool is_at(std::string_view sign) const { return at_ < tokens_.size() && tokens_[at_].text == sign; }
  bool take(std::string_view single, std::string_view twice) {
    const bool is_taken = at_ < tokens_.size() && is_at(tokens_[at_].word ? twice : single);
    at_ += is_taken ? 1 : 0;
    return is_taken;
  }
  std::string value(const Token& token, bool as_pattern = false) {
    return token.word ? shell_.expand_one(*token.word, as_pattern) : token.text;
  }
  Truth either() {
    const Deeper deeper(shell_, place_);
    Truth truth = both();
    while (take("-o", "||")) truth = or_(truth, both());
    return truth;
  }
  Truth both() {
    Truth truth = one();
    while (take("-a", "&&")) truth = and_(truth, one());
    return truth;
  }
  Truth one() {
    bool negates = false;
    while (at_ + 1 < tokens_.size() && is_at("!")) {
      negates = !negates;
      ++at_;
    }
    const Truth truth = operand();
    return negates ? not_(truth) : truth;
  }
  Truth operand() {
    if (at_ == tokens_.size()) return Truth::kNo;
    const Token& first = tokens_[at_];
    if (at_ + 2 < tokens_.size() && is_comparison(tokens_[at_ + 1].text)) {
      const std::string sign = tokens_[at_ + 1].text;
      const bool takes_pattern = sign == "==" || sign == "=" || sign == "!=";
      const Token& second = tokens_[at_ + 2];
      at_ += 3;
      const std::string left = value(first), right = value(second, takes_pattern && second.word);
      return shell_.compare(left, sign, takes_pattern && !second.word ? as_pattern(right) : right, place_);
    }
    if (first.text == "(") {
      ++at_;
      const Truth truth = either();
      if (!is_at(")")) return Truth::kUnknown;
      ++at_;
      return truth;
    }
    ++at_;
    const bool is_check = first.text.size() == 2 && first.text[0] == '-' && at_ < tokens_.size();
    return is_check ? shell_.check(first.text, value(tokens_[at_++])) : not_(shell_.check("-z", value(first)));
  }

  Interpreter& shell_;
  std::vector<Token> tokens_;
  Place place_;
  size_t at_ = 0;
};

Truth Interpreter::test(const Fields& words) {
  std::vector<TestReader::Token> tokens;
  for (const Field& word : words) tokens.push_back({word.text});
  return TestReader(*this, std::move(tokens), words.empty() ? Place{} : words[0].place).whole();
}

Truth Interpreter::test_words(const std::vector<Word>& words) {
  std::vector<TestReader::Token> tokens;
  for (const Word& word : words) tokens.push_back({word.text, &word});
  return TestReader(*this, std::move(tokens), words.empty() ? Place{} : words[0].place).whole();
}

/// `right` is a pattern where `sign` compares texts.
Truth Interpreter::compare(const std::string& left, const std::string& sign, const std::string& right, Place place) {
  const auto a = unknowns_.known(left), b = unknowns_.known(right);
  if (!a || !b) return Truth::kUnknown;
  spend(a->size() + b->size(), place);
  if (sign == "=" || sign == "==" || sign == "!=") {
    spend(a->size() * b->size(), place);
    return truth_of(matches_pattern(*a, *b) == (sign != "!="));
  }
  if (sign == "<") return truth_of(*a < *b);
  if (sign == ">") return truth_of(*a > *b);
  if (sign.size() != 3 || a->empty() || b->empty()) return Truth::kUnknown;
  const auto x = number_of(*a, place), y = number_of(*b, place);
  if (!x || !y) return Truth::kUnknown;
  if (sign == "-eq") return truth_of(*x == *y);
  if (sign == "-ne") return truth_of(*x != *y);
  if (sign == "-lt") return truth_of(*x < *y);
  if (sign == "-le") return truth_of(*x <= *y);
  if (sign == "-gt") return truth_of(*x > *y);
  if (sign == "-ge") return truth_of(*x >= *y);
  return Truth::kUnknown;
}

Truth Interpreter::check(const std::string& sign, const std::string& operand) {
  auto is_empty = unknowns_.is_empty(operand);
  std::set<std::string> open;
  unknowns_.filled(operand, [&](const Unknown& unknown) {
    const bool may_be_set = unknown.kind == Unknown::Kind::kVariable || unknown.kind == Unknown::Kind::kBlank;
    if (may_be_set && !is_always_set(unknown.text)) open.insert(unknown.text);
    return std::string();
  });
  if (std::ranges::any_of(open, [&](const std::string& name) { return reading_.given.contains(name); }))
    is_empty = false;
  else if (is_empty == true && !open.empty())
    missing_ = open;
  const Truth empty = is_empty ? truth_of(*is_empty) : Truth::kUnknown;
  if (sign == "-z") return empty;
  if (sign == "-n") return not_(empty);
  if (sign == "-v") return truth_of(find(operand) || is_always_set(operand));
  return empty == Truth::kYes ? Truth::kNo : Truth::kUnknown;  // of a file
}

}  // namespace roll::shell
