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

std::string text_of(const Json& row, const char* key, const std::string& origin) {
  if (row.contains(key) && row[key].is_string()) return row[key].get<std::string>();
  if (row.contains(key) && row[key].is_number()) return to_line(row[key]);
  throw user_error("{}: {} = {}: must be a text or a number; write one", origin, key,
                   row.contains(key) ? to_line(row[key]) : "(missing)");
}

/// Ignores commas between digits, as in 1,813.
std::optional<double> number_of(std::string text) {
  std::erase(text, ',');
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string small(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

}  // namespace

std::vector<Question> load_questions(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw user_error("{}: cannot be read{}; name a file of questions", file.string(), errno_text());
  std::vector<Question> questions;
  for_each_json_line(in, file.string(), [&](int64_t line, const Json& row) {
    const std::string origin = fmt::format("{}:{}", file.string(), line);
    questions.push_back({text_of(row, "question", origin), text_of(row, "answer", origin)});
  });
  if (questions.empty())
    throw user_error("{}: holds no question; write lines with \"question\" and \"answer\"", file.string());
  return questions;
}

Question arithmetic_question(uint64_t seed, int64_t least, int64_t greatest) {
  uint32_t position = 0;
  const auto drawn = [&](int64_t count) {
    const double uniform = random_uniform({.seed = seed, .purpose = Purpose::kEnvironment, .position = position++});
    return static_cast<int64_t>(uniform * static_cast<double>(count));
  };
  const auto number = [&] { return least + drawn(greatest - least + 1); };
  constexpr std::array kSigns{'+', '-', '*'};
  std::string sum = std::to_string(number());
  for (int i = 0; i < 2; ++i) {
    const char sign = kSigns.at(drawn(kSigns.size()));
    sum += fmt::format(" {} {}", sign, number());
  }
  return {fmt::format("What is {}?", sum), calculate(sum)};
}

bool is_answer(const std::string& said, const std::string& answer) {
  const std::string a(trimmed_text(said)), b(trimmed_text(answer));
  const auto x = number_of(a), y = number_of(b);
  return x && y ? *x == *y : small(a) == small(b);
}

}  // namespace roll
