// Sizes of a device decoder's buffers on one tensor-parallel rank, and the model parts that its kernels support.
#pragma once

#include "model/features.h"
#include "model/layer.h"
#include "model/transformer.h"

namespace roll {

/// Mixers with GPU kernels. Each has its block struct, add_block() and mix() in device_decoder.cpp, its sizes in
/// device_sizes.cpp, and its kernels in cuda/decode_kernels.h and cuda/attend_pages.h.
using DeviceMixers = MixerKinds<Attention, GatedMlp>;
/// Features beyond Llama's that the kernels support.
inline constexpr Features kDeviceFeatures = {Feature::kScoreScale};

/// Row width of each buffer, in elements: the maximum over all blocks.
struct RowWidths {
  int64_t qkv = 0, mixed = 0, inner = 0;
  int64_t cached = 0;  // keys and values per token and cache
  int64_t heads = 0;
  int64_t vocab = 0;   // row of logits on this rank
  int64_t copied = 0;  // all fused or merged weight copies together
};

/// Computes the widths for one of `tp` tensor-parallel ranks.
RowWidths row_widths(const ModelSpec& spec, int64_t tp);

}  // namespace roll
