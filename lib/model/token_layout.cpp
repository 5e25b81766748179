// A sequence is cut into 2 cp chunks, of which rank r holds r and 2 cp - 1 - r: under a causal mask all ranks then have
// the same work.
#include "model/token_layout.h"

#include <ATen/ATen.h>

#include "device/transfers.h"
#include "dist/parallel_ops.h"
#include "ops/layer_ops.h"
#include "packing/alignment.h"

namespace roll {

namespace {

at::Tensor to_tensor(const std::vector<int64_t>& values, at::Device device) {
  return sent(at::tensor(values, at::kLong), device);
}

/// Positions of the slots: chunk by chunk, they go on over padding.
std::vector<int64_t> slot_positions(const std::vector<int64_t>& aligned, int64_t cp, int64_t rank) {
  std::vector<int64_t> positions;
  const auto add = [&](int64_t begin, int64_t count) {
    for (int64_t i = 0; i < count; ++i) positions.push_back(begin + i);
  };
  for (const int64_t length : aligned) {
    if (cp == 1) {
      add(0, length);
      continue;
    }
    const int64_t chunk = length / (2 * cp);
    add(rank * chunk, chunk);
    add((2 * cp - 1 - rank) * chunk, chunk);
  }
  return positions;
}

/// Each sequence gives this rank two pieces, chunks r and 2cp-1-r, whose keys are all chunks up to their own.
void add_context_pieces(const std::vector<int64_t>& aligned, const ModelParallel& parallel, at::Device device,
                        TokenLayout& layout) {
  const int64_t cp = parallel.cp_size(), rank = parallel.cp_rank(), slots = cumulative(aligned).back() / cp;
  std::vector<int64_t> rows;
  layout.cu_queries = {0};
  layout.cu_keys = {0};
  int64_t begin = 0;  // of the sequence, in the slots of every rank
  for (const int64_t length : aligned) {
    const int64_t chunk = length / (2 * cp);
    for (const int64_t own : {rank, 2 * cp - 1 - rank}) {
      for (int64_t j = 0; j <= own; ++j) {
        const int64_t owner = std::min(j, 2 * cp - 1 - j), first = owner * slots + begin + (j < cp ? 0 : chunk);
        for (int64_t i = 0; i < chunk; ++i) rows.push_back(first + i);
      }
      layout.cu_queries.push_back(layout.cu_queries.back() + chunk);
      layout.cu_keys.push_back(static_cast<int64_t>(rows.size()));
    }
    begin += 2 * chunk;
  }
  layout.keys = to_tensor(rows, device);
}

}  // namespace

TokenLayout lay_out(const PackedTokens& packed, const ModelParallel& parallel) {
  const int64_t cp = parallel.cp_size(), tp = parallel.tp_size();
  TokenLayout layout{.ids = packed.ids,
                     .positions = packed.positions,
                     .num_positions = packed.max_length(),
                     .cu_queries = packed.cu_seqlens,
                     .cu_keys = packed.cu_seqlens,
                     .bounds = packed.bounds};
  if (cp * tp == 1) return layout;
  layout.bounds.reset();  // pieces are others
  const at::Device device = packed.ids.device();
  const int64_t alignment = sequence_alignment(cp, tp);
  std::vector<int64_t> lengths;
  for (int64_t b = 0; b < packed.num_sequences(); ++b) lengths.push_back(packed.length(b));
  const std::vector<int64_t> aligned = aligned_lengths(lengths, alignment);
  layout.num_positions = aligned_length(layout.num_positions, alignment);
  layout.host_tokens = context_parallel_slots(lengths, alignment, cp, parallel.cp_rank());
  layout.tokens = to_tensor(layout.host_tokens, device);
  layout.places = to_tensor(context_parallel_places(lengths, alignment, cp), device);
  layout.positions = to_tensor(slot_positions(aligned, cp, parallel.cp_rank()), device);
  layout.ids = to_slots(layout, packed.ids, 0);
  if (cp == 1) {
    layout.cu_queries = layout.cu_keys = cumulative(aligned);
  } else {
    add_context_pieces(aligned, parallel, device, layout);
  }
  return layout;
}

at::Tensor to_slots(const TokenLayout& layout, const at::Tensor& x, int64_t padding) {
  if (!layout.tokens.defined()) return x;
  return x.index_select(0, layout.tokens.clamp_min(0)).masked_fill_(layout.tokens.lt(0), padding);
}

at::Tensor to_packed(const TokenLayout& layout, const at::Tensor& x, const ModelParallel& parallel) {
  if (!layout.places.defined()) return x;
  const at::Tensor all = parallel.cp_size() > 1 ? gather_results(x, *parallel.cp, "results") : x;
  return select_rows(all, layout.places);
}

}  // namespace roll
