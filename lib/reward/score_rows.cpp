#include "reward/score_rows.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/error.h"
#include "data/columns.h"
#include "data/rows.h"

namespace roll {

namespace {

constexpr int64_t kRowsAtOnce = 4096;  // rows held in memory

void require_column(const Json& row, const char* name, const std::string& where) {
  if (column(row, name) == nullptr)
    throw user_error("{}: {}: missing; every row needs \"response\" and \"ground_truth\"", where, name);
}

Json read_messages(const Json& row, const std::string& prompt, const std::string& where) {
  if (const Json* messages = column(row, "messages")) return parse_messages(*messages, where, "messages");
  return {{{"role", "user"}, {"content", prompt}}};
}

int64_t read_num_tokens(const Json& row, const std::string& where) {
  const Json* tokens = column(row, "num_response_tokens");
  if (tokens == nullptr) return 0;
  if (!tokens->is_number_integer() || tokens->get<int64_t>() < 0)
    throw user_error("{}: num_response_tokens = {}: must be a whole number >= 0", where,
                     to_line(*tokens).substr(0, 80));
  return tokens->get<int64_t>();
}

/// Returns the token ids of a column, as rollouts have them; empty if the row lacks it.
std::vector<int64_t> read_token_ids(const Json& row, const char* name, const std::string& where) {
  const Json* const ids = column(row, name);
  if (ids == nullptr) return {};
  const auto is_id = [](const Json& id) { return id.is_number_integer() && id.get<int64_t>() >= 0; };
  if (!ids->is_array() || !std::ranges::all_of(*ids, is_id))
    throw user_error("{}: {} = {}: must be a list of token ids", where, name, to_line(*ids).substr(0, 80));
  return ids->get<std::vector<int64_t>>();
}

RewardQuery read_query(const Json& row, const std::string& where) {
  require_column(row, "response", where);
  if (!names_right_answer(row)) require_column(row, "ground_truth", where);
  RewardQuery query;
  query.row = row;
  query.response = string_column(row, "response", where);
  query.ground_truth = ground_truth_column(row, where);
  query.prompt = string_column(row, "prompt", where);
  query.messages = read_messages(row, query.prompt, where);
  query.tag = string_column(row, "tag", where);
  query.domain = string_column(row, "domain", where);
  query.finish_reason = string_column(row, "finish_reason", where);
  query.num_response_tokens = read_num_tokens(row, where);
  query.prompt_ids = read_token_ids(row, "prompt_ids", where);
  query.response_ids = read_token_ids(row, "response_ids", where);
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

bool names_right_answer(const Json& row) {
  return row.contains("instruction_id_list") || row.contains("test_cases") || column(row, "ground_truth");
}

ScoredRows score_rows(const ScoreBatch& score, const RowSource& rows, std::ostream& out) {
  ScoredRows scored;
  std::vector<RewardQuery> queries;
  rows([&](const Json& row, const std::string& where) {
    queries.push_back(read_query(row, where));
    queries.back().name = static_cast<uint64_t>(scored.num_rows++);
    if (std::ssize(queries) < kRowsAtOnce) return;
    write_results(score(std::exchange(queries, {})), out, scored.faults);
  });
  write_results(score(std::move(queries)), out, scored.faults);
  return scored;
}

}  // namespace roll
