#include "model/packed.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"
#include "packing/shared_prompts.h"

namespace roll {

int64_t PackedTokens::longest_context() const {
  int64_t longest = 0;
  for (int64_t c = 0; c < num_contexts(); ++c) longest = std::max(longest, context_length(c));
  return longest;
}

at::Tensor labelled_tokens(const PackedTokens& tokens, const at::Tensor& wanted) {
  const at::Tensor flags = wanted.defined() ? wanted.to(at::kCPU).ne(0).contiguous() : at::Tensor();
  std::vector<int64_t> labelled;
  for (int64_t c = 0; c < tokens.num_contexts(); ++c)
    for (int64_t t = tokens.contexts()[c]; t + 1 < tokens.contexts()[c + 1]; ++t)
      if (!flags.defined() || flags.const_data_ptr<bool>()[t]) labelled.push_back(t);
  return at::tensor(labelled, at::kLong);
}

PackedTokens pack_tokens(const std::vector<std::vector<int64_t>>& sequences, at::Device device) {
  PackedTokens packed{.ids = {}, .positions = {}, .cu_seqlens = {0}};
  for (const auto& sequence : sequences) {
    ROLL_CHECK(!sequence.empty(), "a packed sequence holds at least one token");
    packed.cu_seqlens.push_back(packed.cu_seqlens.back() + static_cast<int64_t>(sequence.size()));
  }
  at::Tensor ids = at::empty({packed.num_tokens()}, at::kLong), positions = at::empty_like(ids);
  int64_t* id = ids.data_ptr<int64_t>();
  int64_t* position = positions.data_ptr<int64_t>();
  for (const auto& sequence : sequences) {
    id = std::copy(sequence.begin(), sequence.end(), id);
    std::iota(position, position + sequence.size(), 0);
    position += sequence.size();
  }
  packed.ids = ids.to(device);
  packed.positions = positions.to(device);
  return packed;
}

std::vector<Branch> prefix_tree(const PackedTokens& tokens, int64_t alignment, int64_t unshared) {
  const at::Tensor ids = tokens.ids.contiguous();
  const auto* first = ids.const_data_ptr<int64_t>();
  const auto context_ids = [&](const Branch& branch) {
    return std::span(first + tokens.contexts()[branch.context], tokens.context_length(branch.context));
  };
  std::vector<Branch> tree;
  for (int64_t c = 0; c < tokens.num_contexts(); ++c) tree.push_back({.context = c});
  std::ranges::stable_sort(tree, [&](const Branch& a, const Branch& b) {
    return std::ranges::lexicographical_compare(context_ids(a), context_ids(b));
  });
  bool shares = false;
  for (size_t i = 1; i < tree.size(); ++i) {
    const auto branch_ids = context_ids(tree[i]);
    const int64_t equal = std::ranges::mismatch(branch_ids, context_ids(tree[i - 1])).in1 - branch_ids.begin();
    const int64_t common = equal - unshared;
    tree[i].shared = common > 0 ? shared_tokens(common, alignment) : 0;
    shares |= tree[i].shared > 0;
  }
  return shares ? tree : std::vector<Branch>();
}

}  // namespace roll
