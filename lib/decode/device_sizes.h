// Sizes of the device decoder's buffers (device_decoder.cpp) on one tensor-parallel rank, and the model parts that its
// kernels support.
#pragma once

#include "model/features.h"
#include "model/layer.h"
#include "model/transformer.h"

namespace roll {

/// Mixers with GPU kernels. Each has its block struct, add_block() and mix() in device_decoder.cpp, its sizes in
/// device_sizes.cpp, and its kernels in cuda/decode_kernels.h, cuda/attend_pages.h and cuda/expert_products.h.
using DeviceMixers = MixerKinds<Attention, GatedMlp, Experts>;
/// Features beyond Llama's that the kernels support.
inline constexpr Features kDeviceFeatures = {Feature::kScoreScale, Feature::kRotary,        Feature::kNormOffset,
                                             Feature::kOutputNorm, Feature::kActivation,    Feature::kBranchScale,
                                             Feature::kLogitScale, Feature::kEmbeddingScale};

/// Entries per tile of MultiplyGroups, for few and for many rows per expert.
inline constexpr int kSmallTile = 16, kLargeTile = 64;

/// Sizes of mixtures of experts, as the maximum over all mixtures of the model; all 0 if it has none.
struct MixtureWidths {
  int64_t experts = 0, chosen = 0;
  int64_t routed = 0;  // outputs of a router, with the shared expert's gate
  int64_t inner = 0;   // inner size of an expert on one rank

  /// Returns how many tiles MultiplyGroups may need.
  int64_t most_tiles(int64_t rows) const;
};

/// Widths of the buffers on one rank: elements per token, as the maximum over all blocks of the model.
struct RowWidths {
  int64_t qkv = 0;     // queries, keys and values
  int64_t mixed = 0;   // attention output: query heads x head size
  int64_t inner = 0;   // inner size of the MLP
  int64_t cached = 0;  // keys and values of one attention block, together
  int64_t heads = 0;   // query heads (not elements)
  int64_t vocab = 0;   // logits: this rank's part of the vocabulary, rounded up to a multiple of 4
  int64_t copied = 0;  // not per token: elements of all weights that the decoder copies
  MixtureWidths mixture{};
};

/// Returns the widths for each of `tp` tensor-parallel ranks. All mixers of the model must be DeviceMixers.
RowWidths row_widths(const ModelSpec& spec, int64_t tp);

}  // namespace roll
