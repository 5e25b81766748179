// Sequences packed on one token axis, without padding: the input of every forward except sampling.
// A context is a run of tokens in which each token attends to those before it. A sequence is a unit of training data:
// mostly one context; a trajectory whose turns have prompts of their own has several, one after the other.
// Legend: B sequences, C contexts, T tokens of all sequences.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace roll {

struct TokenLayout;

/// The slots (indices of tokens on this context rank, token_layout.h) for which the lm head computes results. Their
/// tokens have a label, i.e. a next token in their context, and are in the mask `wanted`. Made by labelled_slots().
struct LabelledSlots {
  at::Tensor wanted;  // mask [T] on the host: 0 where no result is needed; undefined: results of all tokens
  at::Tensor slots;   // [N] int64, ascending
  // [T] bool: true for tokens that `wanted` leaves out, but that share a slot with one in it; undefined: there are
  // none.
  at::Tensor unwanted{};
};

/// One context of a prefix tree, which is a list of all contexts in lexicographic order. Its first `shared` tokens
/// equal those of the context before it in the list, and are computed only there.
struct Branch {
  int64_t context = 0, shared = 0;  // index among the C contexts; number of tokens
};

class RouterTraining;

/// The whole batch that the ranks of one model compute together; each rank has the same one.
struct PackedTokens {
  at::Tensor ids;                      // [T] int64
  at::Tensor positions;                // [T] int64, restart at 0 in each context
  std::vector<int64_t> cu_seqlens;     // [B+1] from 0: sequence b is tokens [cu_seqlens[b], cu_seqlens[b + 1])
  std::vector<int64_t> cu_contexts{};  // [C+1]: the same for contexts; empty: each sequence is one context
  std::vector<Branch> tree{};          // [C] from prefix_tree(); empty: no prefix sharing

  at::Tensor dropout_keys{};  // [T] from dropout_keys() if adapters are trained with dropout; else undefined
  // [T, choices_per_token()] int16 (mixture.h): experts that the sampler's routers chose and that the forward must use,
  // for each mixture of the model in turn. -1: the router chooses; undefined: the routers choose for all tokens.
  at::Tensor routed_experts{};
  // For a micro-batch in training:
  double token_weight = 0;                    // 1 / tokens of the mini-batch; 0: no training
  double loss_scale = 1;                      // factor of the loss before backward
  std::shared_ptr<RouterTraining> routers{};  // trains the routers; null: they are not trained
  bool trains_mtp = false;                    // the MTP head (mtp.h) also predicts

  // Optional results computed ahead and sent to the device with the tokens; forwards compute them if they are not set:
  at::Tensor bounds{};                    // [C+1] int32: contexts()
  std::shared_ptr<TokenLayout> layout{};  // lay_out() for this rank
  std::vector<LabelledSlots> labelled{};  // one per mask; a forward with the same tensor `wanted` uses it

  int64_t num_sequences() const { return static_cast<int64_t>(cu_seqlens.size()) - 1; }
  int64_t num_tokens() const { return cu_seqlens.back(); }
  int64_t length(int64_t sequence) const { return cu_seqlens[sequence + 1] - cu_seqlens[sequence]; }
  /// Returns [C+1]: context c is tokens [contexts()[c], contexts()[c + 1]).
  const std::vector<int64_t>& contexts() const { return cu_contexts.empty() ? cu_seqlens : cu_contexts; }
  int64_t num_contexts() const { return static_cast<int64_t>(contexts().size()) - 1; }
  int64_t context_length(int64_t context) const { return contexts()[context + 1] - contexts()[context]; }
  int64_t longest_context() const;
};

/// Returns the indices of the tokens that have a next token in their context and are in the mask `wanted` [T]
/// (undefined: all 1): [N] int64, ascending, on the host.
at::Tensor labelled_tokens(const PackedTokens& tokens, const at::Tensor& wanted);

/// Packs sequences of token ids in order, each as one context. Throws Bug if a sequence is empty.
PackedTokens pack_tokens(const std::vector<std::vector<int64_t>>& sequences, at::Device device = at::kCPU);

/// Returns all contexts in lexicographic order of their tokens, for PackedTokens::tree. Each shares its common prefix
/// with the one before it, rounded down by shared_tokens() (packing/shared_prompts.h) to a multiple of `alignment` that
/// leaves out the prefix's last token, and `unshared` ones before it. Returns an empty list if nothing is shared. The
/// ids must be on the host.
std::vector<Branch> prefix_tree(const PackedTokens& tokens, int64_t alignment, int64_t unshared = 0);

}  // namespace roll
