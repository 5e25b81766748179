#include "preview/golds.h"

#include <algorithm>

#include "base/error.h"
#include "reward/row_columns.h"

namespace roll {

namespace {

constexpr size_t kShownWrong = 3;

RewardQuery make_query(const Row& row, std::string response) {
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
std::string error_text(const Json& detail) {
  const Json& error = detail["error"];
  return error.is_string() ? error.get<std::string>() : to_line(error);
}

std::string describe_failure(const Row& row, const std::string& gold, const RewardResult& result) {
  const std::string reason =
      result.detail.contains("error") ? error_text(result.detail) : fmt::format("scored {:g}", result.score);
  return fmt::format("{}: {}: {}", row.origin, shown_text(gold), reason);
}

}  // namespace

Golds score_golds(const RowStore& rows, const std::vector<int64_t>& indices, RewardFunction& reward,
                  int64_t max_count) {
  Golds golds;
  const int64_t n = std::ssize(indices), count = std::min(n, max_count);
  for (int64_t i = 0; i < count; ++i) {
    const Row row = rows.at(indices[i * n / count]);
    const auto gold = reward.gold_response(row.raw);
    if (!gold) continue;
    const RewardResult result = reward.score(make_query(row, *gold));
    ++golds.scored;
    if (result.score >= 1)
      ++golds.right;
    else if (golds.wrong_examples.size() < kShownWrong)
      golds.wrong_examples.push_back(describe_failure(row, *gold, result));
  }
  return golds;
}

void test_reward_code(const Row& row, RewardFunction& reward, const std::string& key) {
  reward.prepare();
  const RewardResult result = reward.score(make_query(row, row.ground_truth));
  if (const auto failure = reward_failure(result.detail))
    throw user_error(
        "{}: returned no reward for {}, tried with its ground truth as the response: {}", key, row.origin,
        *failure == RewardFailure::kTimeout
            ? "no answer came within timeout_s; flush each answer, for example with print(..., flush=True) in Python"
            : error_text(result.detail));
}

}  // namespace roll
