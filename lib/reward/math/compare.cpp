// Tries comparisons from the cheapest to the most expensive: equal text, the letter of a choice, trees. Unequal trees
// are compared again if "1.5e-3" may have been read as Euler's e.
#include "reward/math/compare.h"

#include <algorithm>
#include <cctype>

#include "reward/math/commands.h"
#include "reward/math/equal_trees.h"
#include "reward/math/grammar.h"
#include "reward/math/lexer.h"

namespace roll::math {

namespace {

/// Returns the text without surrounding space, trailing punctuation and trailing spacing commands such as "\,".
std::string_view trimmed(std::string_view s) {
  const auto drop = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  while (!s.empty() && drop(s.front())) s.remove_prefix(1);
  while (!s.empty() && !s.ends_with("...") &&
         (drop(s.back()) || std::string_view(".,;:").find(s.back()) != std::string_view::npos)) {
    const bool spacing = s.size() > 1 && s[s.size() - 2] == '\\';
    s.remove_suffix(spacing ? 2 : 1);
  }
  return s;
}

/// Returns "c" for C, (C), C), \text{(C)}, "(C) 12"; "" for anything else.
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

/// Returns "1.5e-3" in LaTeX's notation, or "" if `s` is no such number.
std::string scientific(std::string_view s) {
  const size_t e = s.find_first_of("eE");
  if (e == std::string_view::npos || e == 0 || e + 1 == s.size()) return "";
  const auto digits = [](std::string_view part, std::string_view others) {
    return part.find_first_not_of(others) == std::string_view::npos &&
           part.find_first_of("0123456789") != std::string_view::npos;
  };
  const std::string_view mantissa = s.substr(0, e), exponent = s.substr(e + 1);
  if (!digits(mantissa, "-0123456789.") || !digits(exponent, "+-0123456789") || exponent.size() > 4) return "";
  return std::string(mantissa) + "\\cdot 10^{" + std::string(exponent) + "}";
}

/// Returns the text to the right of the last "=" of a single equation, else "".
std::string_view right_side(std::string_view s) {
  int depth = 0;
  size_t right = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\') {
      ++i;
      continue;
    }
    depth += std::string_view("([{").find(s[i]) != std::string_view::npos;
    depth -= std::string_view(")]}").find(s[i]) != std::string_view::npos;
    const bool other = std::string_view(",;<>").find(s[i]) != std::string_view::npos || s.substr(i).starts_with("!=");
    if (depth == 0 && other) return "";
    if (depth == 0 && s[i] == '=') right = i + 1;
  }
  return right == 0 ? "" : s.substr(right);
}

/// Parses an answer. If "\int_0^1 f(x) dx = 2" has an unreadable left side, parses its right side.
Node parse_result(std::string_view answer, const Letters& letters) {
  try {
    return parse_answer(answer, letters);
  } catch (const Unreadable&) {
    const std::string_view right = right_side(answer);
    if (right.empty()) throw;
    return parse_answer(right, letters);
  }
}

// Units of measurement and their names.
const WordTable kUnits = by_word(
    "mm mm millimeters, cm cm centimeter centimeters, m m meter meters metres, km km kilometer kilometers, "
    "in in inch inches, ft ft foot feet, yd yd yard yards, mi mi mile miles, s s sec second seconds, "
    "min min minute minutes, h h hr hrs hour hours, day day days, week week weeks, month month months, "
    "year year years, mg mg, g g gram grams, kg kg kilogram kilograms, lb lb lbs pound pounds, "
    "oz oz ounce ounces, dollar dollar dollars, cent cent cents, degree degrees, radian radians");

/// Returns the unit that ends the text, "cm" for "5 \text{ centimeters}^2"; "" if it is unknown or missing.
std::string find_unit(std::string_view text) {
  const std::vector<Token> tokens = tokenize_latex(text);
  size_t last = tokens.size() - 1;  // the end token
  if (last >= 2 && tokens[last - 2].sign("^")) last -= 2;
  if (last < 2 || tokens[last - 1].kind != Token::Kind::kText) return "";
  const auto unit = kUnits.find(plain_text(tokens[last - 1].text));
  return unit == kUnits.end() ? "" : unit->second;
}

/// Returns whether both texts end in a unit, and these differ. Otherwise units are ignored.
bool units_differ(std::string_view truth, std::string_view answer) {
  const std::string a = find_unit(truth), b = find_unit(answer);
  return !a.empty() && !b.empty() && a != b;
}

bool equal_mathematics(std::string_view truth, std::string_view answer, Deadline& deadline, std::string& rule) {
  const Letters letters = choose_letters(truth, answer);
  const Node truth_tree = parse_answer(truth, letters);
  return equal_trees(truth_tree, parse_result(answer, letters), deadline, rule);
}

Comparison compare(std::string_view truth, std::string_view answer, Deadline& deadline) {
  if (truth.empty() || answer.empty()) return {false, "text"};
  if (truth == answer) return {true, "text"};
  const std::string plain_truth = plain_text(truth), plain_answer = plain_text(answer);
  if (!plain_truth.empty() && plain_truth == plain_answer) return {true, "text"};
  const std::string letter = capital_letter(truth) ? choice(plain_truth) : "";
  if (!letter.empty() && letter == choice(plain_answer)) return {true, "choice"};
  if (units_differ(truth, answer)) return {false, "unit"};
  Comparison result;
  result.equal = equal_mathematics(truth, answer, deadline, result.rule);
  const std::string power_truth = scientific(truth), power_answer = scientific(answer);
  if (result.equal || (power_truth.empty() && power_answer.empty())) return result;
  result.equal = equal_mathematics(power_truth.empty() ? truth : power_truth,
                                   power_answer.empty() ? answer : power_answer, deadline, result.rule);
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
