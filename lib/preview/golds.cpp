#include "preview/golds.h"

#include <algorithm>

#include "base/error.h"
#include "reward/row_columns.h"

namespace roll {

namespace {

constexpr size_t kShownWrong = 3;

RewardQuery query_of(const Row& row, std::string response) {
  return {.row = row.raw,
          .messages = row.messages.value_or(Json{{{"role", "user"}, {"content", row.prompt}}}),
          .prompt = row.prompt,
          .response = std::move(response),
          .ground_truth = row.ground_truth,
          .tag = row.tag,
          .domain = row.domain,
          .finish_reason = "stop",
          .num_response_tokens = 1};
}

/// Returns the error text of a reward result.
std::string error_in(const Json& detail) {
  const Json& error = detail["error"];
  return error.is_string() ? error.get<std::string>() : to_line(error);
}

std::string complaint(const Row& row, const std::string& gold, const RewardResult& result) {
  const std::string why =
      result.detail.contains("error") ? error_in(result.detail) : fmt::format("scored {:g}", result.score);
  return fmt::format("{}: {}: {}", row.origin, shown_text(gold), why);
}

}  // namespace

Golds score_golds(const RowStore& rows, const std::vector<int64_t>& indices, RewardFunction& reward, int64_t most) {
  Golds golds;
  const int64_t n = std::ssize(indices), count = std::min(n, most);
  for (int64_t i = 0; i < count; ++i) {
    const Row row = rows.at(indices[i * n / count]);
    const auto gold = reward.gold_response(row.raw);
    if (!gold) continue;
    const RewardResult result = reward.score(query_of(row, *gold));
    ++golds.asked;
    if (result.score >= 1)
      ++golds.right;
    else if (golds.wrong.size() < kShownWrong)
      golds.wrong.push_back(complaint(row, *gold, result));
  }
  return golds;
}

void try_out(const Row& row, RewardFunction& reward, const std::string& where) {
  reward.prepare();
  const RewardResult result = reward.score(query_of(row, row.ground_truth));
  if (const auto failure = reward_failure(result.detail))
    throw user_error(
        "{}: gave no reward for {}, asked once with its ground truth as the response: {}", where, row.origin,
        *failure == RewardFailure::kTimeout
            ? "nothing came within timeout_s; let it flush each answer, as print(..., flush=True) does in Python"
            : error_in(result.detail));
}

}  // namespace roll
