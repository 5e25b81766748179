#include "model/id_rows.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/error.h"
#include "model/log_probs.h"

namespace roll {

namespace {

/// Makes a JSON list. Rows have one number fewer than tokens: the last token has no next one to predict.
Json numbers(const float* begin, int64_t count) {
  Json list = Json::array();
  for (int64_t i = 0; i < count; ++i) list.push_back(json_float(begin[i]));
  return list;
}

void write_batch(const Transformer& model, const std::vector<std::vector<int64_t>>& rows, std::ostream& out,
                 const LogProbsJob& job) {
  const at::NoGradGuard no_grad;
  const PackedTokens tokens = pack_tokens(rows, model.device());
  const TokenLogProbs result = token_log_probs(model, tokens, job.temperature, job.with_entropy);
  const at::Tensor log_probs = result.log_probs.cpu();
  const at::Tensor entropy = job.with_entropy ? result.entropy.cpu() : at::Tensor();
  for (int64_t b = 0; b < tokens.num_sequences(); ++b) {
    const int64_t begin = tokens.cu_seqlens[b], count = tokens.length(b) - 1;
    Json line = {{"log_probs", numbers(log_probs.data_ptr<float>() + begin, count)}};
    if (job.with_entropy) line["entropy"] = numbers(entropy.data_ptr<float>() + begin, count);
    out << to_line(line) << '\n';
  }
  out.flush();
}

std::string length_rule(const ModelSpec& spec) {
  return spec.most_positions() == spec.max_positions
             ? fmt::format("the model's max_position_embeddings is {}; give fewer tokens", spec.max_positions)
             : fmt::format("the model's original context has {}; give fewer tokens, or up to {} with --max-length",
                           spec.max_positions, spec.most_positions());
}

}  // namespace

std::vector<int64_t> parse_ids(const Json& row, const std::string& where, int64_t vocab_size) {
  const auto ids = row.find("ids");
  if (ids == row.end()) throw user_error("{}: ids: is missing; a row is {{\"ids\": [1, 2, 3]}}", where);
  if (!ids->is_array()) throw user_error("{}: ids: {} where a list of token ids is needed", where, ids->type_name());
  if (ids->empty()) throw user_error("{}: ids = []: at least one token is needed", where);
  std::vector<int64_t> result;
  for (const Json& id : *ids) {
    const bool in_vocabulary = id.is_number_unsigned() && id.get<uint64_t>() < static_cast<uint64_t>(vocab_size);
    if (!in_vocabulary)
      throw user_error("{}: ids[{}] = {}: a whole number from 0 to {} is needed (the model's vocabulary)", where,
                       result.size(), to_line(id), vocab_size - 1);
    result.push_back(id.get<int64_t>());
  }
  return result;
}

void write_log_probs(const Transformer& model, std::istream& in, const std::string& origin, std::ostream& out,
                     const LogProbsJob& job) {
  std::vector<std::vector<int64_t>> batch;
  int64_t num_tokens = 0;
  const auto flush = [&] {
    if (!batch.empty()) write_batch(model, batch, out, job);
    batch.clear();
    num_tokens = 0;
  };
  for_each_json_line(in, origin, [&](int64_t line, const Json& row) {
    auto ids = parse_ids(row, fmt::format("{}:{}", origin, line), model.spec().vocab_size);
    if (const ModelSpec& spec = model.spec(); std::ssize(ids) > spec.max_positions)
      throw user_error("{}:{}: ids: {} tokens: {}", origin, line, ids.size(), length_rule(spec));
    if (num_tokens + static_cast<int64_t>(ids.size()) > job.max_tokens_per_batch) flush();
    num_tokens += static_cast<int64_t>(ids.size());
    batch.push_back(std::move(ids));
  });
  flush();
}

}  // namespace roll
