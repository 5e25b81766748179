// What of a model a device decoder keeps on one of its tensor ranks, in numbers.
#pragma once

#include "model/features.h"
#include "model/layer.h"
#include "model/transformer.h"

namespace roll {

/// The kinds of mixers that have kernels. Each has its block, add_block() and mix() in device_decoder.cpp, its sizes
/// in device_sizes.cpp, and its kernels in cuda/decode_kernels.h and cuda/attend_pages.h.
using DeviceMixers = MixerKinds<Attention, GatedMlp>;
/// What the kernels compute beside what Llama has.
inline constexpr Features kDeviceFeatures = {Feature::kScoreScale};

/// Numbers of a row of each buffer: the widest of all blocks.
struct RowWidths {
  int64_t qkv = 0, mixed = 0, inner = 0;
  int64_t cached = 0;  // of a token in each cache, keys and values
  int64_t heads = 0;
  int64_t vocab = 0;   // of a row of logits, of this rank
  int64_t copied = 0;  // of all weights that stand together as copies, or are merged
};

RowWidths row_widths(const ModelSpec& spec, int64_t tp);

}  // namespace roll
