// Sequences packed on one token axis, without padding: the input of every forward.
// A sequence is trained on together and moved as one. Mostly it is one context, in which each token sees those before
// it. A trajectory whose turns have prompts of their own has several contexts, one after the other.
// Legend: B sequences, C contexts, T tokens of all sequences.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace roll {

struct TokenLayout;

/// Slots of this cp rank (token_layout.h) whose tokens have a label and are wanted.
struct LabelledSlots {
  at::Tensor wanted;      // [T] on the host, as given
  at::Tensor slots;       // [N] int64
  at::Tensor unwanted{};  // [T] bool: unwanted tokens in slots that are computed; undefined: none
};

/// A context of a prefix tree: its first `shared` tokens equal those of the context before it, and are computed there.
struct Branch {
  int64_t context = 0, shared = 0;
};

class RouterTraining;

struct PackedTokens {
  at::Tensor ids;                      // [T] int64
  at::Tensor positions;                // [T] int64, restart at 0 in each context
  std::vector<int64_t> cu_seqlens;     // [B+1]: sequence b is tokens cu_seqlens[b] .. cu_seqlens[b+1]
  std::vector<int64_t> cu_contexts{};  // [C+1]: offsets of contexts, all of cu_seqlens included; empty: cu_seqlens
  std::vector<Branch> tree{};          // [C] from prefix_tree(); empty: no prefix sharing

  at::Tensor dropout_keys{};  // [T] from dropout_keys() if adapters are trained with dropout; else undefined
  // [T, choices_per_token()] int16: experts that the sampler's routers chose, to be used again, mixture after mixture;
  // -1, or undefined for all tokens: the router's own choice
  at::Tensor routed_experts{};
  // For a micro-batch in training:
  double token_weight = 0;                    // 1 / tokens of the mini-batch
  double loss_scale = 1;                      // factor of its loss
  std::shared_ptr<RouterTraining> routers{};  // training of the routers; null: none

  // Optional; set if they came to the device with the tokens, so that they need not be sent again:
  at::Tensor bounds{};                    // [C+1] int32: contexts()
  std::shared_ptr<TokenLayout> layout{};  // for the ranks that compute the tokens
  std::vector<LabelledSlots> labelled{};  // for some masks

  int64_t num_sequences() const { return static_cast<int64_t>(cu_seqlens.size()) - 1; }
  int64_t num_tokens() const { return cu_seqlens.back(); }
  int64_t length(int64_t sequence) const { return cu_seqlens[sequence + 1] - cu_seqlens[sequence]; }
  /// [C+1]: offsets of contexts.
  const std::vector<int64_t>& contexts() const { return cu_contexts.empty() ? cu_seqlens : cu_contexts; }
  int64_t num_contexts() const { return static_cast<int64_t>(contexts().size()) - 1; }
  int64_t context_length(int64_t context) const { return contexts()[context + 1] - contexts()[context]; }
  int64_t longest_context() const;
};

/// Returns the tokens that have a successor in their context and are in `wanted` [T] (undefined: all): [N] int64, on
/// the host.
at::Tensor labelled_tokens(const PackedTokens& tokens, const at::Tensor& wanted);

/// Packs sequences in order, each as one context. Bug: a sequence is empty.
PackedTokens pack_tokens(const std::vector<std::vector<int64_t>>& sequences, at::Device device = at::kCPU);

/// Returns the contexts in lexicographic order. Each shares its common prefix with the one before, in whole multiples
/// of `alignment` and without the prefix's last token (shared_tokens() in packing/shared_prompts.h). Empty if nothing
/// is shared. The ids must be on the host.
std::vector<Branch> prefix_tree(const PackedTokens& tokens, int64_t alignment);

}  // namespace roll
