#include "decode/tensor_decoder.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <unordered_map>

namespace roll {

TensorDecoder::TensorDecoder(const Transformer& model, const DecoderSizes& sizes)
    : model_(model), sizes_(sizes), record_(model.spec(), sizes) {
  const auto options = at::TensorOptions().dtype(model.dtype()).device(model.device());
  const auto add_rows = [&](std::vector<at::Tensor>& tensors, int64_t width) {
    tensors.push_back(at::empty({sizes.num_pages * sizes.page_size, width}, options));
  };
  const int64_t tp = model.parallel().tp_size();
  const auto state_options = options.dtype(model.dtype() == at::kDouble ? at::kDouble : at::kFloat);
  for (const Layer& layer : model.spec().layers())
    for (const Block& block : layer) {
      const int64_t width = std::visit([tp](const auto& mixer) { return mixer.own_cost(tp).cached; }, block.mixer);
      if (std::holds_alternative<LatentAttention>(block.mixer)) {
        add_rows(cache_.keys, width);
        cache_.values.push_back(cache_.keys.back());  // latents are keys and values
      } else if (width > 0) {
        for (auto* tensors : {&cache_.keys, &cache_.values}) add_rows(*tensors, width / 2);
      }
      if (const auto* net = std::get_if<GatedDeltaNet>(&block.mixer))
        cache_.states.push_back(
            {.heads = at::empty({sizes.num_pages, net->value_heads / tp, net->key_dim, net->value_dim}, state_options),
             .tails = at::empty({sizes.num_pages, net->kernel - 1, net->convolved() / tp}, state_options)});
    }
}

void TensorDecoder::copy_page(int64_t from, int64_t to) {
  record_.copy_page(from, to);
  const at::NoGradGuard no_grad;
  for (const auto* tensors : {&cache_.keys, &cache_.values})
    for (const at::Tensor& rows : *tensors)
      rows.narrow(0, to * sizes_.page_size, sizes_.page_size)
          .copy_(rows.narrow(0, from * sizes_.page_size, sizes_.page_size));
  for (const DeltaStates& states : cache_.states)
    for (const at::Tensor& pages : {states.heads, states.tails}) pages[to].copy_(pages[from]);
}

LogitRows TensorDecoder::run(std::span<const DecoderRow> rows, std::span<const int64_t> logit_rows) {
  const at::NoGradGuard no_grad;
  CachedTokens tokens = lay_out_rows(rows);
  if (record_.is_kept())
    tokens.routed_experts = at::empty({std::ssize(rows), record_.width()}, tokens.ids.options().dtype(at::kShort));
  const at::Tensor hidden = model_.extend(tokens, cache_);
  if (record_.is_kept()) record(rows, tokens.routed_experts.to(at::kCPU));
  const at::Tensor indices =
      at::tensor(at::IntArrayRef(logit_rows.data(), logit_rows.size()), at::kLong).to(model_.device());
  logits_ = model_.logits(hidden.index_select(0, indices)).to(at::kCPU).contiguous();
  return {logits_.const_data_ptr<float>(), logits_.size(1)};
}

void TensorDecoder::record(std::span<const DecoderRow> rows, const at::Tensor& experts) {
  for (int64_t i = 0; i < std::ssize(rows); ++i)
    std::copy_n(experts.const_data_ptr<int16_t>() + i * record_.width(), record_.width(), record_.entries(rows[i]));
}

CachedTokens TensorDecoder::lay_out_rows(std::span<const DecoderRow> rows) const {
  std::vector<int64_t> ids, positions, token_rows, seen;
  CachedTokens tokens{.ids = {}, .positions = {}, .rows = {}, .seen = {}, .cu_queries = {0}, .cu_keys = {0}};
  const auto row_at = [&](const DecoderRow& row, int64_t position) {
    return row.pages[position / sizes_.page_size] * sizes_.page_size + position % sizes_.page_size;
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    ids.push_back(rows[i].token), positions.push_back(rows[i].position);
    token_rows.push_back(row_at(rows[i], rows[i].position));
    tokens.num_positions = std::max(tokens.num_positions, rows[i].position + 1);
    if (i + 1 < rows.size() && rows[i + 1].pages == rows[i].pages) continue;
    for (int64_t position = 0; position <= rows[i].position; ++position) seen.push_back(row_at(rows[i], position));
    tokens.cu_queries.push_back(std::ssize(ids)), tokens.cu_keys.push_back(std::ssize(seen));
  }
  const auto on_device = [&](const std::vector<int64_t>& values) {
    return at::tensor(values, at::kLong).to(model_.device());
  };
  tokens.ids = on_device(ids);
  tokens.positions = on_device(positions);
  tokens.rows = on_device(token_rows);
  tokens.seen = on_device(seen);
  if (!cache_.states.empty()) tokens.rounds = lay_out_states(rows);
  return tokens;
}

std::vector<StateRound> TensorDecoder::lay_out_states(std::span<const DecoderRow> rows) const {
  struct Round {
    std::vector<int64_t> tokens, from, to, cu{0};
    std::vector<uint8_t> begins;
  };
  std::vector<Round> rounds;
  std::unordered_map<int32_t, size_t> written;  // page -> round after the one that writes its state
  for (size_t i = 0; i < rows.size();) {
    const int64_t page = rows[i].position / sizes_.page_size;
    const bool begins = rows[i].position == 0;
    const int32_t to = rows[i].pages[page];
    const int32_t from = begins ? to : rows[i].pages[(rows[i].position - 1) / sizes_.page_size];
    const auto before = written.find(from);
    const size_t number = before == written.end() ? 0 : before->second;
    if (number == rounds.size()) rounds.emplace_back();
    Round& round = rounds[number];
    round.from.push_back(from), round.to.push_back(to), round.begins.push_back(begins);
    written[to] = number + 1;
    const size_t first = i;
    while (i < rows.size() && rows[i].pages == rows[first].pages && rows[i].position / sizes_.page_size == page)
      round.tokens.push_back(static_cast<int64_t>(i++));
    round.cu.push_back(std::ssize(round.tokens));
  }
  std::vector<StateRound> result;
  const auto to_device = [&](const at::Tensor& x) { return x.to(model_.device()); };
  for (const Round& round : rounds)
    result.push_back({.tokens = to_device(at::tensor(round.tokens, at::kLong)),
                      .from = to_device(at::tensor(round.from, at::kLong)),
                      .to = to_device(at::tensor(round.to, at::kLong)),
                      .begins = to_device(at::tensor(round.begins, at::kByte).to(at::kBool)),
                      .plan = plan_delta(round.cu, model_.spec().delta->kernel, model_.device())});
  return result;
}

}  // namespace roll
