#include "preview/guess_reward.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "config/flag.h"
#include "data/row_files.h"
#include "reward/reward.h"
#include "reward/row_columns.h"

namespace roll {

namespace {

constexpr int64_t kMaxGuessRows = 200;
constexpr double kNearlyAll = 0.9;

std::vector<Row> read_first_rows(const std::vector<std::string>& files, const RowColumns& columns) {
  std::vector<Row> rows;
  for (const std::string& name : files) {
    RowFile file(name, columns);
    for (Row row; std::ssize(rows) < kMaxGuessRows;) try {
        if (!file.next(row)) break;
        rows.push_back(std::move(row));
      } catch (const BadRow&) {  // reported later, when all rows are checked
      }
  }
  return rows;
}

bool can_judge_all(const char* type, const std::vector<Row>& rows) {
  RewardArgs args;
  RewardType parsed_type;
  read_flag("--reward", type, parsed_type, finite());
  args.type = parsed_type;
  const auto reward = make_reward(args, 1, "");
  return std::ranges::all_of(rows, [&](const Row& row) {
    try {
      reward->check_row(row.raw);
      return true;
    } catch (const UserError&) {
      return false;
    }
  });
}

/// Returns true if the answer holds a digit or a LaTeX command.
bool looks_like_mathematics(const Row& row) {
  return row.ground_truth.find_first_of("0123456789\\") != std::string::npos;
}

}  // namespace

GuessedReward guess_reward(const std::vector<std::string>& files, const RowColumns& columns) {
  const std::vector<Row> rows = read_first_rows(files, columns);
  if (rows.empty()) throw user_error("--reward: missing; {} has no row from which to guess it", files.front());
  const std::string rows_text = fmt::format("the first {} rows", rows.size());
  for (const auto& [type, content] :
       {std::pair("ifeval", "instructions that a program can check"), std::pair("code_sandbox", "tests for programs"),
        std::pair("multiple_choice", "letters of answer choices")})
    if (can_judge_all(type, rows)) return {type, fmt::format("{} contain {}", rows_text, content)};
  const auto is_blank = [](const Row& row) { return row.ground_truth.empty(); };
  const auto blank = std::ranges::find_if(rows, is_blank);
  if (blank != rows.end())
    throw user_error(
        "--reward: missing; {} has no ground_truth (its columns: {}) from which to guess it; type --reward TYPE, or "
        "`roll data check --ground-truth COLUMN` to try a column",
        blank->origin, column_names(blank->raw));
  const auto count = std::ranges::count_if(rows, looks_like_mathematics);
  if (static_cast<double>(count) >= kNearlyAll * static_cast<double>(rows.size()))
    return {"math_rule", fmt::format("{} of {} have a number or LaTeX as the right answer", count, rows_text)};
  const auto counterexample = std::ranges::find_if_not(rows, looks_like_mathematics);
  throw user_error(
      "--reward: missing, and the rows do not show which one to use: the right answers of {} of {} are neither "
      "numbers, choices, tests of programs nor instructions, for example {}: {}; type --reward exact_match if a "
      "response must be exactly that text, or --reward math_rule if that text is mathematics",
      std::ssize(rows) - count, rows_text, counterexample->origin, shown_text(counterexample->ground_truth));
}

}  // namespace roll
