// Latent attention of the CPU decoder. The cache has one latent and one rotated key per token, which all heads read.
#include <ATen/ATen.h>

#include <algorithm>

#include "decode/cpu_decoder.h"
#include "ops/row_ops.h"

namespace roll {

namespace {

constexpr int64_t kHeadsPerTask = 8;  // heads of a run that read the same keys one after the other
constexpr int64_t kRowsTogether = 64;

/// Multiplies `rows` rows of x by the weight. Calls sink(row, first column, numbers, width) for each panel's part of a
/// row's result.
template <class T, class F>
void multiply_rows(const PackedWeight& weight, const T* x, int64_t stride, int64_t rows, const F& sink) {
  static thread_local std::vector<float> scratch;
  scratch.resize(static_cast<size_t>(kRowsTogether * kPanelWidth));
  for (int64_t panel = 0; panel < weight.num_panels(); ++panel)
    for (int64_t first = 0; first < rows; first += kRowsTogether) {
      const int64_t count = std::min(kRowsTogether, rows - first), column = panel * kPanelWidth;
      weight.multiply(panel, x + first * stride, stride, count, scratch.data(), kPanelWidth, panel + 1);
      for (int64_t i = 0; i < count; ++i)
        sink(first + i, column, scratch.data() + i * kPanelWidth, std::min(kPanelWidth, weight.outputs() - column));
    }
}

/// Returns the biases of the products in `down`, with zeros for one that has none; undefined if none has one.
at::Tensor joined_biases(const std::vector<Linear>& parts) {
  if (std::ranges::none_of(parts, [](const Linear& part) { return part.bias.defined(); })) return {};
  std::vector<at::Tensor> biases;
  for (const Linear& part : parts)
    biases.push_back(part.bias.defined() ? as_float(part.bias) : at::zeros({part.outputs()}, at::kFloat));
  return at::cat(biases);
}

}  // namespace

template <class T>
int64_t CpuDecoder<T>::room_for(const LatentAttention& attention, const LayerWeights& weights) const {
  const bool has_down = attention.q_down.outputs > 0;
  const Linear &q = weights[attention.q], &kv_down = weights[attention.kv_down];
  const int64_t heads = weights[attention.o].inputs() / attention.value_dim;
  const int64_t query_outputs = has_down ? weights[attention.q_down].outputs() : q.outputs();
  const int64_t pages = sizes_.num_pages * sizes_.page_size * attention.cached_dim() * static_cast<int64_t>(sizeof(T));
  return PackedWeight::room_for(query_outputs + kv_down.outputs(), hidden_, packed_dtype()) +
         (has_down ? packed_bytes(q) : 0) + packed_bytes(weights[attention.o]) +
         heads * (PackedWeight::room_for(attention.latent_dim, attention.key_dim, kDtype) +
                  PackedWeight::room_for(attention.value_dim, attention.latent_dim, kDtype)) +
         StreamedMemory::room_for(pages);
}

template <class T>
void CpuDecoder<T>::add_block(const LatentAttention& attention, const Block& block, const LayerWeights& weights,
                              StreamedMemory& memory) {
  const bool has_down = attention.q_down.outputs > 0;
  const std::vector<Linear> down = {weights[has_down ? attention.q_down : attention.q], weights[attention.kv_down]};
  const Linear& out = weights[attention.o];
  LatentBlock made{.heads = out.inputs() / attention.value_dim,
                   .latent_dim = attention.latent_dim,
                   .key_dim = attention.key_dim,
                   .rotated_dim = attention.rotated_dim,
                   .value_dim = attention.value_dim,
                   .query_dim = attention.q_down.outputs,
                   .down = packed_together(down, memory),
                   .q = has_down ? packed_together({weights[attention.q]}, memory) : PackedWeight(),
                   .o = packed_together({out}, memory),
                   .keys_up = {},
                   .values_up = {},
                   .pages = memory.take({sizes_.num_pages, sizes_.page_size * attention.cached_dim()}, kDtype),
                   .down_bias = joined_biases(down),
                   .q_norm = has_down ? norm_weight(weights, attention.q_norm) : at::Tensor(),
                   .latent_norm = norm_weight(weights, attention.latent_norm),
                   .rotary = attention.rotary,
                   .scale = static_cast<float>(attention.over_latents().scale()),
                   .norm_eps = static_cast<float>(attention.latent_norm.eps)};
  const at::Tensor up =
      merged_weight(weights[attention.kv_up]).view({made.heads, made.key_dim + made.value_dim, made.latent_dim});
  for (int64_t head = 0; head < made.heads; ++head) {
    made.keys_up.emplace_back(made.latent_dim, made.key_dim, kDtype, memory);
    made.keys_up.back().fill(0, up[head].narrow(0, 0, made.key_dim).t().contiguous());
    made.values_up.emplace_back(made.value_dim, made.latent_dim, kDtype, memory);
    made.values_up.back().fill(0, up[head].narrow(0, made.key_dim, made.value_dim).contiguous());
  }
  push_block(std::move(made), block, weights, out.bias);
}

template <class T>
void CpuDecoder<T>::make_latent_buffers() {
  int64_t query_latent = 0, plain = 0, read = 0, query = 0, over_latents = 0;  // maximum widths
  for (const DecoderBlock& block : blocks_)
    if (const auto* latent = std::get_if<LatentBlock>(&block.mixer)) {
      query_latent = std::max(query_latent, latent->query_dim);
      plain = std::max(plain, latent->heads * latent->key_dim);
      read = std::max(read, latent->heads * latent->latent_dim);
      query = std::max(query, latent->q.padded_outputs());
      over_latents = std::max(over_latents, latent->heads * latent->cached_dim());
    }
  const auto rows = [&](int64_t width, at::ScalarType dtype) { return at::empty({sizes_.max_rows, width}, dtype); };
  query_latents_ = rows(query_latent, kDtype);
  plain_queries_ = rows(plain, kDtype);
  latent_reads_ = rows(read, kDtype);
  queries_ = rows(query, at::kFloat);
  latent_queries_ = rows(over_latents, at::kFloat);
}

template <class T>
KvPages<T> CpuDecoder<T>::kv_pages(const LatentBlock& block) const {
  return {.keys = block.pages.template mutable_data_ptr<T>(),
          .page_size = sizes_.page_size,
          .kv_heads = 1,
          .head_dim = block.cached_dim(),
          .value_dim = block.latent_dim};
}

template <class T>
typename CpuDecoder<T>::Rows CpuDecoder<T>::project_latents(Member& member, const LatentBlock& block) {
  const int64_t count = std::ssize(rows_);
  multiply(member, block.down, tensor_rows<T>(input_), count, tensor_rows(qkv_));
  const Rows down = tensor_rows(qkv_);
  const Angles& angles = angles_[static_cast<size_t>(block.rotary.rope)];
  const auto rotate = block.rotary.interleaved ? rotate_head_interleaved : rotate_head;
  const int64_t before = block.query_dim > 0 ? block.query_dim : block.query_width(), rotated = block.rotated_dim;
  const KvPages<T> pages = kv_pages(block);
  const float *const cos = data_or_null(angles.cos), *const sin = data_or_null(angles.sin);
  const float *const bias = data_or_null(block.down_bias), *const q_norm = data_or_null(block.q_norm),
                     *const latent_norm = data_or_null(block.latent_norm);
  const auto turn = [&](float* head, int64_t position) {
    rotate(head, cos + position * rotated / 2, sin + position * rotated / 2, rotated);
  };
  member.share(count, [&](int64_t i) {
    float* const latent = down[i] + before;
    if (bias) add_to_row(down[i], bias, nullptr, before + block.cached_dim());
    if (q_norm) norm_row(down[i], q_norm, tensor_rows<T>(query_latents_)[i], block.query_dim, block.norm_eps);
    norm_row(latent, latent_norm, latent, block.latent_dim, block.norm_eps);
    turn(latent + block.latent_dim, rows_[i].position);
    store_token<T>(pages, rows_[i].pages, rows_[i].position, latent, nullptr);
  });
  const Rows queries = block.query_dim > 0 ? tensor_rows(queries_) : down;
  if (block.query_dim > 0) multiply(member, block.q, tensor_rows<T>(query_latents_), count, queries);
  member.share(count, [&](int64_t i) {
    for (int64_t head = 0; head < block.heads; ++head) {
      float* const query = queries[i] + head * (block.key_dim + rotated);
      narrow_row(query, tensor_rows<T>(plain_queries_)[i] + head * block.key_dim, block.key_dim);
      turn(query + block.key_dim, rows_[i].position);
    }
  });
  return queries;
}

template <class T>
void CpuDecoder<T>::absorb_queries(Member& member, const LatentBlock& block, Rows queries) {
  const Inputs plain = tensor_rows<T>(plain_queries_);
  const Rows over_latents = tensor_rows(latent_queries_);
  member.share(block.heads, [&](int64_t head) {
    const auto query = [&](int64_t i) { return over_latents[i] + head * block.cached_dim(); };
    multiply_rows(block.keys_up[static_cast<size_t>(head)], plain[0] + head * block.key_dim, plain.stride,
                  std::ssize(rows_), [&](int64_t i, int64_t column, const float* part, int64_t width) {
                    for (int64_t c = 0; c < width; ++c) query(i)[column + c] = block.scale * part[c];
                  });
    for (int64_t i = 0; i < std::ssize(rows_); ++i) {
      const float* const rotated = queries[i] + head * (block.key_dim + block.rotated_dim) + block.key_dim;
      for (int64_t c = 0; c < block.rotated_dim; ++c) query(i)[block.latent_dim + c] = block.scale * rotated[c];
    }
  });
}

template <class T>
void CpuDecoder<T>::attend_latents(Member& member, const LatentBlock& block) {
  const KvPages<T> pages = kv_pages(block);
  const int64_t groups = (block.heads + kHeadsPerTask - 1) / kHeadsPerTask;
  member.share(std::ssize(runs_) * groups, [&](int64_t task) {
    static thread_local AttentionScratch<T> scratch;
    static thread_local std::vector<PagedQuery<T>> queries;
    const auto [first, count] = runs_[task / groups];
    const int64_t begin = task % groups * kHeadsPerTask, end = std::min(block.heads, begin + kHeadsPerTask);
    queries.clear();
    for (int64_t i = first; i < first + count; ++i)
      for (int64_t head = begin; head < end; ++head)
        queries.push_back({.q = tensor_rows(latent_queries_)[i] + head * block.cached_dim(),
                           .out = tensor_rows<T>(latent_reads_)[i] + head * block.latent_dim,
                           .length = rows_[i].position + 1});
    attend_pages<T>(pages, rows_[first].pages, 0, queries, scratch);
  });
}

template <class T>
void CpuDecoder<T>::mix(Member& member, const LatentBlock& block) {
  absorb_queries(member, block, project_latents(member, block));
  attend_latents(member, block);
  const Inputs reads = tensor_rows<T>(latent_reads_), mixed = tensor_rows<T>(mixed_);
  member.share(block.heads, [&](int64_t head) {
    multiply_rows(block.values_up[static_cast<size_t>(head)], reads[0] + head * block.latent_dim, reads.stride,
                  std::ssize(rows_), [&](int64_t i, int64_t column, const float* part, int64_t width) {
                    narrow_row(part, mixed[i] + head * block.value_dim + column, width);
                  });
  });
  multiply(member, block.o, tensor_rows<T>(mixed_), std::ssize(rows_), tensor_rows(branch_));
}

#define ROLL_INSTANTIATE(T)                                                                                           \
  template int64_t CpuDecoder<T>::room_for(const LatentAttention&, const LayerWeights&) const;                        \
  template void CpuDecoder<T>::add_block(const LatentAttention&, const Block&, const LayerWeights&, StreamedMemory&); \
  template void CpuDecoder<T>::make_latent_buffers();                                                                 \
  template void CpuDecoder<T>::mix(Member&, const LatentBlock&);
ROLL_INSTANTIATE(float)
ROLL_INSTANTIATE(c10::BFloat16)
#undef ROLL_INSTANTIATE

}  // namespace roll
