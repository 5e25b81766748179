#include "reward/score_rows.h"

#include <istream>
#include <ostream>
#include <utility>

#include "base/error.h"

namespace roll {

namespace {

constexpr int64_t kRowsAtOnce = 4096;  // in memory

std::string text_field(const Json& row, const char* key, const std::string& where, bool needed) {
  if (!row.contains(key)) {
    if (!needed) return "";
    throw user_error("{}: {}: missing; every row needs \"response\" and \"ground_truth\"", where, key);
  }
  if (!row[key].is_string())
    throw user_error("{}: {} = {}: must be a string", where, key, to_line(row[key]).substr(0, 80));
  return row[key].get<std::string>();
}

RewardQuery query_of(const Json& row, const std::string& where) {
  RewardQuery query;
  query.row = row;
  query.messages = row.contains("messages") && row["messages"].is_array()
                       ? row["messages"]
                       : Json{{{"role", "user"}, {"content", row.value("prompt", Json(""))}}};
  query.response = text_field(row, "response", where, true);
  const bool has_tests = row.contains("instruction_id_list") || row.contains("test_cases");
  query.ground_truth = row.contains("ground_truth") && row["ground_truth"].is_object()
                           ? to_line(row["ground_truth"])
                           : text_field(row, "ground_truth", where, !has_tests);
  query.prompt = text_field(row, "prompt", where, false);
  query.tag = text_field(row, "tag", where, false);
  query.domain = text_field(row, "domain", where, false);
  query.finish_reason = text_field(row, "finish_reason", where, false);
  if (!row.contains("num_response_tokens")) return query;
  const Json& tokens = row["num_response_tokens"];
  if (!tokens.is_number_integer() || tokens.get<int64_t>() < 0)
    throw user_error("{}: num_response_tokens = {}: must be a whole number >= 0", where, to_line(tokens).substr(0, 80));
  query.num_response_tokens = tokens.get<int64_t>();
  return query;
}

void write_results(const std::vector<RewardResult>& results, std::ostream& out, RewardFaults& faults) {
  for (const RewardResult& result : results) {
    faults.add(result.detail);
    const Json reward = result.is_judged ? json_float(result.reward) : Json();
    out << to_line(Json{{"reward", reward}, {"detail", result.detail}}) << '\n';
  }
}

}  // namespace

ScoredRows score_rows(const ScoreBatch& score, std::istream& in, const std::string& origin, std::ostream& out) {
  ScoredRows scored;
  std::vector<RewardQuery> queries;
  for_each_json_line(in, origin, [&](int64_t line, const Json& row) {
    queries.push_back(query_of(row, fmt::format("{}:{}", origin, line)));
    queries.back().name = static_cast<uint64_t>(scored.num_rows++);
    if (std::ssize(queries) < kRowsAtOnce) return;
    write_results(score(std::exchange(queries, {})), out, scored.faults);
  });
  write_results(score(std::move(queries)), out, scored.faults);
  return scored;
}

}  // namespace roll
