#include "environment/questions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "base/trim.h"
#include "environment/calculator.h"

namespace roll {

namespace {

std::string text_field(const Json& row, const char* key, const std::string& origin) {
  if (row.contains(key) && row[key].is_string()) return row[key].get<std::string>();
  if (row.contains(key) && row[key].is_number()) return to_line(row[key]);
  throw user_error("{}: {} = {}: must be a text or a number; write one", origin, key,
                   row.contains(key) ? to_line(row[key]) : "(missing)");
}

/// Ignores commas between digits, as in 1,813.
std::optional<double> answer_number(std::string text) {
  std::erase(text, ',');
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

std::vector<Question> load_questions(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw user_error("{}: cannot be read{}; give a file of questions", file.string(), errno_text());
  std::vector<Question> questions;
  for_each_json_line(in, file.string(), [&](int64_t line, const Json& row) {
    const std::string origin = fmt::format("{}:{}", file.string(), line);
    questions.push_back({text_field(row, "question", origin), text_field(row, "answer", origin)});
  });
  if (questions.empty())
    throw user_error("{}: holds no question; write lines with \"question\" and \"answer\"", file.string());
  return questions;
}

Question arithmetic_question(uint64_t seed, int64_t least, int64_t greatest) {
  uint32_t position = 0;
  const auto random_below = [&](int64_t count) {
    const double uniform = random_uniform({.seed = seed, .purpose = Purpose::kEnvironment, .position = position++});
    return static_cast<int64_t>(uniform * static_cast<double>(count));
  };
  const auto random_operand = [&] { return least + random_below(greatest - least + 1); };
  constexpr std::array kSigns{'+', '-', '*'};
  std::string sum = std::to_string(random_operand());
  for (int i = 0; i < 2; ++i) {
    const char sign = kSigns.at(random_below(kSigns.size()));
    sum += fmt::format(" {} {}", sign, random_operand());
  }
  return {fmt::format("What is {}?", sum), calculate(sum)};
}

bool is_answer(const std::string& given_answer, const std::string& answer) {
  const std::string a(trimmed_text(given_answer)), b(trimmed_text(answer));
  const auto x = answer_number(a), y = answer_number(b);
  return x && y ? *x == *y : lower_case(a) == lower_case(b);
}

}  // namespace roll
