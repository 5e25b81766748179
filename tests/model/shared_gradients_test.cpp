// Gradients of prompts that are computed once, to the bit: with numbers whose sums are exact in any order. A softmax
// has such only where its scores are equal and their number is a power of two, whose logarithm's exponential is exact
// (2, 4, 16 and 32 in float64). So keys lie across queries here, and only those tokens have a loss that see so many
// keys. What this leaves out (norms, gates, softmaxes of other scores) shares nothing: it works on single tokens.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <map>

#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "dist/parallel_ops.h"
#include "model/token_layout.h"
#include "ops/attention.h"
#include "packing/alignment.h"

namespace roll {

namespace {

constexpr int64_t kHeads = 2, kWidth = 4;

/// Two groups, of three and two responses that end at different positions.
PackedTokens two_groups() {
  const auto sequence = [](int64_t prompt, int64_t prompt_length, int64_t response, int64_t length) {
    std::vector<int64_t> ids(prompt_length, prompt);
    ids.resize(length, response);
    return ids;
  };
  return pack_tokens({sequence(1, 13, 2, 16), sequence(5, 26, 6, 32), sequence(1, 13, 3, 32), sequence(1, 13, 4, 19),
                      sequence(5, 26, 7, 40)});
}

/// The first token that stands behind the same ones, itself among them: [T].
std::vector<int64_t> alike(const PackedTokens& tokens) {
  std::map<std::vector<int64_t>, int64_t> first;
  std::vector<int64_t> found;
  for (int64_t b = 0; b < tokens.num_sequences(); ++b) {
    std::vector<int64_t> prefix;
    for (int64_t t = tokens.cu_seqlens[b]; t < tokens.cu_seqlens[b + 1]; ++t) {
      prefix.push_back(tokens.ids[t].item<int64_t>());
      found.push_back(first.try_emplace(prefix, t).first->second);
    }
  }
  return found;
}

/// Multiples of 1/8 within 1, the same for tokens that are alike.
at::Tensor dyadic(const PackedTokens& tokens, at::IntArrayRef shape, int64_t salt) {
  std::vector<int64_t> sizes = {tokens.num_tokens()};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  const at::Tensor place = at::arange(c10::multiply_integers(sizes), at::kLong).view(sizes);
  const at::Tensor each = (place * 7919 + salt * 104729).remainder(17).sub(8).to(at::kDouble) / 8;
  return each.index_select(0, at::tensor(alike(tokens), at::kLong)).contiguous();
}

struct Inputs {
  at::Tensor x, q, k, w_v, w_o, d;

  explicit Inputs(const PackedTokens& tokens)
      : x(dyadic(tokens, {kWidth}, 1)),
        q(dyadic(tokens, {kHeads, kWidth}, 2)),
        k(dyadic(tokens, {1, kWidth}, 3)),
        w_v(at::arange(kWidth * kWidth).mul(5).remainder(9).sub(4).to(at::kDouble).div(4).view({kWidth, kWidth})),
        w_o(at::arange(3 * kHeads * kWidth).mul(7).remainder(9).sub(4).to(at::kDouble).div(4).view({3, -1})) {
    q.narrow(2, 1, kWidth - 1).zero_();  // across the keys
    k.narrow(2, 0, 1).zero_();
    const at::Tensor place = at::arange(3 * tokens.num_tokens()).view({-1, 3});  // another loss of each copy
    const at::Tensor seen = tokens.positions + 1, exact = seen.eq(2) + seen.eq(4) + seen.eq(16) + seen.eq(32);
    d = (place * 31).remainder(17).sub(8).to(at::kDouble).div(8) * exact.unsqueeze(1);
    for (const at::Tensor& leaf : leaves()) leaf.requires_grad_();
  }
  std::vector<at::Tensor> leaves() const { return {x, q, k, w_v, w_o}; }
};

/// The gradients of the inputs, those of tokens that are alike added up.
std::vector<at::Tensor> gradients(const PackedTokens& tokens, const ModelParallel& parallel = {}) {
  const Inputs in(tokens);
  const TokenLayout layout = lay_out(tokens, parallel);
  const auto slots = [&](const at::Tensor& of_tokens) {
    if (!layout.tokens.defined()) return of_tokens;
    const at::Tensor rows = of_tokens.flatten(1), is_token = layout.tokens.ge(0).unsqueeze(1);
    const at::Tensor own = rows.index_select(0, layout.tokens.clamp_min(0)) * is_token;
    std::vector<int64_t> sizes = of_tokens.sizes().vec();
    sizes[0] = own.size(0);
    return own.view(sizes);
  };
  at::Tensor k = slots(in.k), v = at::linear(slots(in.x), in.w_v).unsqueeze(1);
  if (parallel.cp) {
    const at::Tensor all = gather_rows(at::stack({k, v}, 1), *parallel.cp, "keys and values");
    k = all.select(1, 0), v = all.select(1, 1);
  }
  const Pieces pieces{layout.cu_queries, layout.cu_keys, {}, {}, layout.keys};
  const at::Tensor mixed = packed_attention(slots(in.q), k, v, pieces, 0.5).flatten(1);
  (to_packed(layout, at::linear(mixed, in.w_o), parallel) * in.d).sum().backward();
  std::vector<at::Tensor> found;
  for (const at::Tensor& leaf : in.leaves()) {
    const bool is_of_tokens = leaf.size(0) == tokens.num_tokens();
    found.push_back(is_of_tokens ? at::zeros_like(leaf).index_add(0, at::tensor(alike(tokens), at::kLong), leaf.grad())
                                 : leaf.grad().clone());
  }
  return found;
}

std::string unequal(const std::vector<at::Tensor>& own, const std::vector<at::Tensor>& whole) {
  std::string wrong;
  for (size_t i = 0; i < own.size(); ++i)
    if (!at::equal(own[i], whole[i])) wrong += fmt::format("{} ", i);
  return wrong;
}

}  // namespace

TEST_CASE("gradients of shared prompts are those of whole sequences to the bit, on any layout", "[share_prompts]") {
  const auto shape = GENERATE(MeshShape{}, MeshShape{.cp = 2}, MeshShape{.tp = 2});
  INFO("cp " << shape.cp << " tp " << shape.tp);
  const std::vector<at::Tensor> whole = gradients(two_groups());
  for (const at::Tensor& gradient : whole) CHECK(gradient.count_nonzero().item<int64_t>() > 0);
  const auto said = test::run_local_ranks(static_cast<int>(shape.cp * shape.tp), [&](Communicator& world) {
    Mesh mesh(world, shape);
    const ModelParallel parallel{.tp = shape.tp > 1 ? &mesh.tp() : nullptr, .cp = shape.cp > 1 ? &mesh.cp() : nullptr};
    PackedTokens tokens = two_groups();
    tokens.tree = prefix_tree(tokens, sequence_alignment(shape.cp, shape.tp));
    const TokenLayout layout = lay_out(tokens, parallel);
    if (layout.num_slots() * shape.cp > 100) return fmt::format("{} slots share nothing", layout.num_slots());
    std::vector<at::Tensor> own = gradients(tokens, parallel);
    for (at::Tensor& gradient : own) mesh.cp().all_reduce_sum(gradient, "gradient");
    return unequal(own, whole);
  });
  CHECK(said == std::vector<std::string>(said.size()));
}

}  // namespace roll
