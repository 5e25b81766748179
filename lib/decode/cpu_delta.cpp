// Gated delta nets (linear attention) of the CPU decoder. A page holds the state after the last token written to it, so
// a sequence continues from the page of its previous token. A thread task is a key head with its value heads.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "decode/cpu_decoder.h"
#include "ops/delta_step.h"
#include "ops/row_ops.h"

namespace roll {

namespace {

/// Channels of a row that a key head convolves.
struct Channels {
  int64_t begin = 0, width = 0, head_offset = 0;  // begin: offset in a row; head_offset: offset in the head's channels
};

/// Convolution input of a key head for a run of tokens and the tokens before it: queries, keys and values,
/// concatenated.
class HeadRows {
 public:
  /// rows: the run's rows. tails: the num_taps - 1 rows before it, [num_taps - 1, convolved]; null: zeros.
  HeadRows(const DeltaHeads& heads, int64_t key_head, int64_t num_taps, RowView<float> rows, const float* tails)
      : num_before_(num_taps - 1), rows_(rows) {
    const int64_t keys = heads.key_heads * heads.key_dim, dim = heads.key_dim;
    const int64_t values = heads.value_heads / heads.key_heads * heads.value_dim;
    channels_ = {
        {{key_head * dim, dim, 0}, {keys + key_head * dim, dim, dim}, {2 * keys + key_head * values, values, 2 * dim}}};
    width_ = 2 * dim + values;
    convolved_ = heads.convolved();
    earlier_.assign(static_cast<size_t>(num_before_ * width_), 0);
    for (int64_t w = 0; tails && w < num_before_; ++w)
      for (const Channels& part : channels_)
        std::copy_n(tails + w * convolved_ + part.begin, part.width, earlier_.data() + w * width_ + part.head_offset);
  }

  /// Sets x to the token's channels after convolution and SiLU. taps: [W, convolved].
  void convolve(int64_t token, const float* taps, std::vector<float>& x) const {
    x.assign(static_cast<size_t>(width_), 0);
    for (const Channels& part : channels_)
      for (int64_t w = 0; w <= num_before_; ++w)
        add_product_row(at(token - num_before_ + w, part), taps + w * convolved_ + part.begin,
                        x.data() + part.head_offset, part.width);
    silu_row(x.data(), width_);
  }

  /// Saves the last rows up to the token as the tails for later tokens.
  void save_tails(int64_t token, float* tails) const {
    for (int64_t w = 0; w < num_before_; ++w)
      for (const Channels& part : channels_)
        std::copy_n(at(token + 1 - num_before_ + w, part), part.width, tails + w * convolved_ + part.begin);
  }

 private:
  const float* at(int64_t token, const Channels& part) const {
    return token >= 0 ? rows_[token] + part.begin : earlier_.data() + (num_before_ + token) * width_ + part.head_offset;
  }

  int64_t num_before_, width_ = 0, convolved_ = 0;
  RowView<float> rows_;
  std::array<Channels, 3> channels_;
  std::vector<float> earlier_;  // [W - 1, width]
};

}  // namespace

template <class T>
int64_t CpuDecoder<T>::room_for(const GatedDeltaNet& net, const LayerWeights& weights) const {
  int64_t outputs = 0;
  for (const LinearShape* part : {&net.q, &net.k, &net.v, &net.z}) outputs += weights[*part].outputs();
  const int64_t heads = weights[net.b].outputs(), convolved = outputs - weights[net.z].outputs();
  const auto pages = [&](int64_t elements_per_page) {
    return StreamedMemory::room_for(sizes_.num_pages * elements_per_page * static_cast<int64_t>(sizeof(float)));
  };
  return PackedWeight::room_for(outputs, hidden_, packed_dtype()) +
         PackedWeight::room_for(2 * heads, hidden_, at::kFloat) + packed_bytes(weights[net.o]) +
         pages(heads * net.key_dim * net.value_dim) + pages((net.kernel - 1) * convolved);
}

template <class T>
void CpuDecoder<T>::add_block(const GatedDeltaNet& net, const Block& block, const LayerWeights& weights,
                              StreamedMemory& memory) {
  const Linear &b = weights[net.b], &a = weights[net.a];
  DeltaBlock delta_block{
      .heads = {.key_heads = weights[net.k].outputs() / net.key_dim,
                .value_heads = b.outputs(),
                .key_dim = net.key_dim,
                .value_dim = net.value_dim},
      .num_taps = net.kernel,
      .qkvz = packed_together({weights[net.q], weights[net.k], weights[net.v], weights[net.z]}, memory),
      .ba = PackedWeight(2 * b.outputs(), hidden_, at::kFloat, memory),
      .o = packed_together({weights[net.o]}, memory),
      .taps = as_float(at::cat({weights[net.q_conv], weights[net.k_conv], weights[net.v_conv]}).squeeze(1).t()),
      .a_log = as_float(weights[net.a_log]),
      .dt_bias = as_float(weights[net.dt_bias]),
      .norm = norm_weight(weights, net.norm),
      .states = {},
      .tails = {}};
  delta_block.ba.fill(0, as_float(merged_weight(b)));
  delta_block.ba.fill(b.outputs(), as_float(merged_weight(a)));
  delta_block.states =
      memory.take({sizes_.num_pages, delta_block.heads.value_heads * net.key_dim * net.value_dim}, at::kFloat);
  delta_block.tails = memory.take({sizes_.num_pages, (net.kernel - 1) * delta_block.heads.convolved()}, at::kFloat);
  push_block(std::move(delta_block), block, weights, weights[net.o].bias);
}

template <class T>
void CpuDecoder<T>::lay_out_rounds() {
  rounds_.clear();
  std::unordered_map<int32_t, size_t> written;  // page -> first round that may read its state
  for (int64_t i = 0; i < std::ssize(rows_);) {
    Run run{.first = i, .count = 0};
    const DecoderRow& first = rows_[i];
    for (; i < std::ssize(rows_) && rows_[i].pages == first.pages; ++i) ++run.count;
    const auto before =
        first.position == 0 ? written.end() : written.find(first.pages[(first.position - 1) / sizes_.page_size]);
    const size_t round = before == written.end() ? 0 : before->second;
    if (round == rounds_.size()) rounds_.emplace_back();
    rounds_[round].push_back(run);
    for (int64_t page = first.position / sizes_.page_size; page <= rows_[i - 1].position / sizes_.page_size; ++page)
      written[first.pages[page]] = round + 1;
  }
}

template <class T>
void CpuDecoder<T>::mix(Member& member, const DeltaBlock& block) {
  multiply(member, block.qkvz, tensor_rows<T>(input_), std::ssize(rows_), tensor_rows(qkv_));
  multiply(member, block.ba, tensor_rows<T>(input_), std::ssize(rows_), tensor_rows(rates_));
  for (const std::vector<Run>& round : rounds_)
    member.share(std::ssize(round) * block.heads.key_heads, [&](int64_t task) {
      run_sequence(block, round[task / block.heads.key_heads], task % block.heads.key_heads);
    });
  multiply(member, block.o, tensor_rows<T>(mixed_), std::ssize(rows_), tensor_rows(branch_));
}

template <class T>
void CpuDecoder<T>::run_sequence(const DeltaBlock& block, Run run, int64_t key_head) {
  const int64_t heads_per_key = block.heads.value_heads / block.heads.key_heads, begin = rows_[run.first].position;
  const int64_t state_size = block.heads.key_dim * block.heads.value_dim;  // elements per state
  const auto page_at = [&](int64_t position) { return rows_[run.first].pages[position / sizes_.page_size]; };
  const Rows states = tensor_rows(block.states), tails = tensor_rows(block.tails), mixed = tensor_rows(qkv_);
  const HeadRows rows(block.heads, key_head, block.num_taps, {mixed[run.first], mixed.stride},
                      begin > 0 ? tails[page_at(begin - 1)] : nullptr);
  std::vector<float> x;
  for (int64_t i = 0; i < run.count; ++i) {
    const int64_t position = begin + i;
    rows.convolve(i, data_or_null(block.taps), x);
    float* const state = states[page_at(position)] + key_head * heads_per_key * state_size;
    if (position == 0)
      std::fill_n(state, heads_per_key * state_size, 0.0f);
    else if (const float* const last = states[page_at(position - 1)] + key_head * heads_per_key * state_size;
             last != state)
      std::copy_n(last, heads_per_key * state_size, state);
    step_heads(block, run.first + i, key_head, x.data(), state);
    if (i + 1 == run.count || (position + 1) % sizes_.page_size == 0) rows.save_tails(i, tails[page_at(position)]);
  }
}

template <class T>
void CpuDecoder<T>::step_heads(const DeltaBlock& block, int64_t row, int64_t key_head, float* x, float* states) {
  const auto& [key_heads, value_heads, key_dim, value_dim] = block.heads;
  const int64_t heads_per_key = value_heads / key_heads;
  const float* const rates = tensor_rows(rates_)[row];  // b of all heads, then a
  const float* const z = tensor_rows(qkv_)[row] + block.heads.convolved();
  float *const q = x, *const k = q + key_dim, *const v = k + key_dim;
  scale_to_length(q, key_dim, 1 / std::sqrt(static_cast<float>(key_dim)));
  scale_to_length(k, key_dim, 1);
  static thread_local std::vector<float> read;
  read.resize(static_cast<size_t>(value_dim));
  for (int64_t e = 0; e < heads_per_key; ++e) {
    const int64_t head = key_head * heads_per_key + e;
    const float step = rates[value_heads + head] + data_or_null(block.dt_bias)[head];
    step_state({.q = q,
                .k = k,
                .v = v + e * value_dim,
                .decay = delta_decay(data_or_null(block.a_log)[head], step),
                .rate = 1 / (1 + std::exp(-rates[head]))},
               states + e * key_dim * value_dim, read.data(), key_dim, value_dim);
    norm_row(read.data(), data_or_null(block.norm), read.data(), value_dim, eps_);
    gate_row(z + head * value_dim, read.data(), nullptr, nullptr, tensor_rows<T>(mixed_)[row] + head * value_dim,
             value_dim);
  }
}

#define ROLL_INSTANTIATE(T)                                                                                         \
  template int64_t CpuDecoder<T>::room_for(const GatedDeltaNet&, const LayerWeights&) const;                        \
  template void CpuDecoder<T>::add_block(const GatedDeltaNet&, const Block&, const LayerWeights&, StreamedMemory&); \
  template void CpuDecoder<T>::lay_out_rounds();                                                                    \
  template void CpuDecoder<T>::mix(Member&, const DeltaBlock&);
ROLL_INSTANTIATE(float)
ROLL_INSTANTIATE(c10::BFloat16)
#undef ROLL_INSTANTIATE

}  // namespace roll
