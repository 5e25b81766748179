// Sizes of the device decoder's buffers (device_decoder.cpp) on one tensor-parallel rank, and the model parts that its
// kernels support.
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

/// Widths of the buffers on one rank: elements per token, as the maximum over all blocks (attention or MLP) of the
/// model.
struct RowWidths {
  int64_t qkv = 0;     // queries, keys and values
  int64_t mixed = 0;   // attention output: query heads x head size
  int64_t inner = 0;   // inner size of the MLP
  int64_t cached = 0;  // keys and values of one attention block, together
  int64_t heads = 0;   // query heads (not elements)
  int64_t vocab = 0;   // logits: this rank's part of the vocabulary, rounded up to a multiple of 4
  int64_t copied = 0;  // not per token: elements of all weights that the decoder copies
};

/// Returns the widths for each of `tp` tensor-parallel ranks. All mixers of the model must be DeviceMixers.
RowWidths row_widths(const ModelSpec& spec, int64_t tp);

}  // namespace roll
