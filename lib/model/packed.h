// Sequences as one token axis. Padding never exists.
// A sequence is what is trained on together and moved as one; mostly it is one context, in which each token sees those
// before it. A trajectory whose turns have prompts of their own is several, one behind the other.
// Legend: B sequences, C contexts, T tokens of all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace roll {

struct TokenLayout;

/// The slots (token_layout.h) whose tokens have a label and are wanted, of this cp rank.
struct LabelledSlots {
  at::Tensor wanted;      // [T] as on the host
  at::Tensor slots;       // [N] int64
  at::Tensor unwanted{};  // [T] bool: of tokens whose result others want; undefined where there are none
};

/// A context that begins as the one before it in a tree does: its first `shared` tokens are computed there.
struct Branch {
  int64_t context = 0, shared = 0;
};

class RouterTraining;

struct PackedTokens {
  at::Tensor ids;                      // [T] int64
  at::Tensor positions;                // [T] int64, restart at 0 in each context
  std::vector<int64_t> cu_seqlens;     // [B+1]: sequence b is tokens cu_seqlens[b] .. cu_seqlens[b+1]
  std::vector<int64_t> cu_contexts{};  // [C+1] likewise, with all of cu_seqlens; empty: every sequence is a context
  std::vector<Branch> tree{};          // [C] of prefix_tree(); empty: every context is computed whole

  at::Tensor dropout_names{};  // [T] of dropout_names(), where adapters are trained with dropout; else undefined
  // [T, choices_per_token()] int16: the experts that each token goes through, mixture after mixture, as the sampler's
  // routers chose them; -1, and undefined of all: as these routers choose
  at::Tensor routed_experts{};
  // Of a micro-batch in training:
  double token_weight = 0;                    // 1 / tokens of the mini-batch
  double loss_scale = 1;                      // by which its loss is multiplied
  std::shared_ptr<RouterTraining> routers{};  // those of experts, where they are trained

  // Where they came with the tokens to a device, whom nobody then need send them:
  at::Tensor bounds{};                    // [C+1] int32: contexts()
  std::shared_ptr<TokenLayout> layout{};  // of the ranks that compute them
  std::vector<LabelledSlots> labelled{};  // of masks

  int64_t num_sequences() const { return static_cast<int64_t>(cu_seqlens.size()) - 1; }
  int64_t num_tokens() const { return cu_seqlens.back(); }
  int64_t length(int64_t sequence) const { return cu_seqlens[sequence + 1] - cu_seqlens[sequence]; }
  /// [C+1] where contexts begin and end.
  const std::vector<int64_t>& contexts() const { return cu_contexts.empty() ? cu_seqlens : cu_contexts; }
  int64_t num_contexts() const { return static_cast<int64_t>(contexts().size()) - 1; }
  int64_t context_length(int64_t context) const { return contexts()[context + 1] - contexts()[context]; }
  int64_t longest_context() const;
};

/// [N] int64: the tokens that have a successor in their context and are in `wanted` [T] (undefined: all), on the host.
at::Tensor labelled_tokens(const PackedTokens& tokens, const at::Tensor& wanted);

/// Sequences one after the other. Every sequence must hold at least one token (Bug).
PackedTokens pack_tokens(const std::vector<std::vector<int64_t>>& sequences, at::Device device = at::kCPU);

/// The trie of the contexts, as they lie in lexicographic order: each shares with the one before what both begin with,
/// in whole multiples of `alignment` and without the last token of that (shared_tokens() in packing/shared_prompts.h).
/// Empty where nothing is shared. The ids must be on the host.
std::vector<Branch> prefix_tree(const PackedTokens& tokens, int64_t alignment);

}  // namespace roll
