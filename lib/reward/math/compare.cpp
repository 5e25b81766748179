#include "reward/math/compare.h"

#include <algorithm>
#include <cctype>

#include "reward/math/equal_trees.h"
#include "reward/math/lexer.h"
#include "reward/math/parser.h"

namespace roll::math {

namespace {

/// Without surrounding space and trailing punctuation; a trailing "\\" too.
std::string_view trimmed(std::string_view s) {
  const auto drop = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!s.empty() && drop(s.front())) s.remove_prefix(1);
  while (!s.empty() && (drop(s.back()) || std::string_view(".,;:").find(s.back()) != std::string_view::npos)) {
    const bool spacing = s.size() > 1 && s[s.size() - 2] == '\\';
    s.remove_suffix(spacing ? 2 : 1);
  }
  return s;
}

/// "c" of C, (C), C), \text{(C)}, "(C) 12"; "" of anything else.
std::string choice(const std::string& plain) {
  const bool bracket = plain.size() >= 3 && plain[0] == '(' && plain[2] == ')';
  const bool half = plain.size() == 2 && plain[1] == ')';
  const size_t at = bracket ? 1 : 0;
  if (!bracket && !half && plain.size() != 1) return "";
  return std::isalpha(static_cast<unsigned char>(plain[at])) != 0 ? plain.substr(at, 1) : "";
}

bool capital_letter(std::string_view truth) {
  const auto capitals = std::count_if(truth.begin(), truth.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return capitals == 1;
}

Comparison compare(std::string_view truth, std::string_view answer, Deadline& deadline) {
  if (truth.empty() || answer.empty()) return {false, "text"};
  if (truth == answer) return {true, "text"};
  const std::string plain_truth = plain_text(truth), plain_answer = plain_text(answer);
  if (!plain_truth.empty() && plain_truth == plain_answer) return {true, "text"};
  const std::string letter = capital_letter(truth) ? choice(plain_truth) : "";
  if (!letter.empty() && letter == choice(plain_answer)) return {true, "choice"};
  const auto functions = function_letters(truth, answer);
  Comparison result;
  const Node truth_tree = parse_answer(truth, functions);
  result.equal = equal_trees(truth_tree, parse_answer(answer, functions), deadline, result.rule);
  return result;
}

}  // namespace

Comparison compare_answers(std::string_view ground_truth, std::string_view answer, Deadline& deadline) {
  try {
    return compare(trimmed(ground_truth), trimmed(answer), deadline);
  } catch (const Unreadable&) {
    return {trimmed(ground_truth) == trimmed(answer), "unreadable"};
  }
}

}  // namespace roll::math
