#include "model/token_layout.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/random.h"
#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "dist/single.h"
#include "packing/alignment.h"

namespace roll {

namespace {

using Numbers = std::vector<int64_t>;

/// Laying out needs no message: ranks that only know their number.
struct RankPlace {
  std::unique_ptr<Communicator> tp, cp;
  RankPlace(int64_t cp_rank, int64_t cp_size, int64_t tp_size)
      : tp(make_single_communicator({.rank = 0, .size = static_cast<int>(tp_size)})),
        cp(make_single_communicator({.rank = static_cast<int>(cp_rank), .size = static_cast<int>(cp_size)})) {}
  ModelParallel parallel() const { return {tp.get(), cp.get()}; }
};

/// Token i of sequence b is 100 b + i + 1.
PackedTokens telling_tokens(const Numbers& lengths) {
  std::vector<Numbers> sequences;
  for (size_t b = 0; b < lengths.size(); ++b) {
    sequences.emplace_back();
    for (int64_t i = 0; i < lengths[b]; ++i) sequences.back().push_back(100 * static_cast<int64_t>(b) + i + 1);
  }
  return pack_tokens(sequences);
}

Numbers list(const at::Tensor& x) {
  return {x.const_data_ptr<int64_t>(), x.const_data_ptr<int64_t>() + x.numel()};
}

Numbers random_lengths(uint64_t seed) {
  Numbers lengths;
  for (uint64_t i = 0; i < 1 + seed % 6; ++i)
    lengths.push_back(1 + static_cast<int64_t>(30 * random_uniform({.seed = seed, .sequence = i})));
  return lengths;
}

/// All ranks' rows one after the other, as an all-gather over cp lays them.
at::Tensor of_all_ranks(const std::vector<TokenLayout>& ranks, at::Tensor TokenLayout::*member) {
  std::vector<at::Tensor> parts;
  for (const TokenLayout& layout : ranks) parts.push_back(layout.*member);
  return at::cat(parts);
}

std::vector<TokenLayout> lay_out_all(const PackedTokens& tokens, int64_t cp, int64_t tp) {
  std::vector<TokenLayout> ranks;
  for (int64_t rank = 0; rank < cp; ++rank) ranks.push_back(lay_out(tokens, RankPlace(rank, cp, tp).parallel()));
  return ranks;
}

}  // namespace

TEST_CASE("two context ranks get the known zigzag slices, with positions and bounds of their pieces", "[model]") {
  const auto ranks = lay_out_all(telling_tokens({2, 4, 6, 1}), 2, 1);
  CHECK(list(ranks[0].ids) == Numbers{1, 0, 101, 104, 201, 202, 0, 0, 301, 0});
  CHECK(list(ranks[1].ids) == Numbers{2, 0, 102, 103, 203, 204, 205, 206, 0, 0});
  CHECK(list(ranks[0].tokens) == Numbers{0, -1, 2, 5, 6, 7, -1, -1, 12, -1});
  CHECK(list(ranks[0].positions) == Numbers{0, 3, 0, 3, 0, 1, 6, 7, 0, 3});
  CHECK(list(ranks[1].positions) == Numbers{1, 2, 1, 2, 2, 3, 4, 5, 1, 2});
  for (const TokenLayout& layout : ranks) {
    CHECK(layout.cu_queries == Numbers{0, 1, 2, 3, 4, 6, 8, 9, 10});
    CHECK(layout.num_positions == 8);
  }
  CHECK(ranks[0].cu_keys == Numbers{0, 1, 5, 6, 10, 12, 20, 21, 25});
  CHECK(ranks[1].cu_keys == Numbers{0, 2, 5, 7, 10, 14, 20, 22, 25});
  CHECK(list(ranks[0].result_rows) == Numbers{0, 10, 2, 12, 13, 3, 4, 5, 14, 15, 16, 17, 8});
}

TEST_CASE("tensor ranks alone pad each sequence, whose pieces are the padded sequences", "[model]") {
  const TokenLayout layout = lay_out(telling_tokens({2, 4, 1}), RankPlace(0, 1, 3).parallel());
  CHECK(list(layout.ids) == Numbers{1, 2, 0, 101, 102, 103, 104, 0, 0, 201, 0, 0});
  CHECK(list(layout.positions) == Numbers{0, 1, 2, 0, 1, 2, 3, 4, 5, 0, 1, 2});
  CHECK(layout.cu_queries == Numbers{0, 3, 9, 12});
  CHECK(layout.cu_keys == layout.cu_queries);
  CHECK(layout.num_positions == 6);
  CHECK_FALSE(layout.keys.defined());
}

TEST_CASE("one rank's layout is the packed batch itself", "[model]") {
  const PackedTokens tokens = telling_tokens({2, 4});
  const TokenLayout layout = lay_out(tokens, {});
  CHECK(layout.ids.is_same(tokens.ids));
  CHECK(layout.positions.is_same(tokens.positions));
  CHECK(layout.num_positions == 4);
  CHECK(to_slots(layout, tokens.ids, -1).is_same(tokens.ids));
  CHECK(to_packed(layout, tokens.ids, {}).is_same(tokens.ids));
}

TEST_CASE("each piece sees its own sequence from the start to its last query", "[model]") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const int64_t cp = seed % 2 ? 4 : 2, tp = 1 + static_cast<int64_t>(seed / 2 % 3);
    const PackedTokens tokens = telling_tokens(random_lengths(seed));
    const auto ranks = lay_out_all(tokens, cp, tp);
    const at::Tensor all_ids = of_all_ranks(ranks, &TokenLayout::ids);
    const at::Tensor all_positions = of_all_ranks(ranks, &TokenLayout::positions);
    for (const TokenLayout& layout : ranks) {
      const int64_t pieces = std::ssize(layout.cu_queries) - 1;
      REQUIRE(pieces == 2 * tokens.num_sequences());
      REQUIRE(layout.ids.numel() % tp == 0);
      const at::Tensor ids = all_ids.index_select(0, layout.keys);
      const at::Tensor positions = all_positions.index_select(0, layout.keys);
      for (int64_t c = 0; c < pieces; ++c) {
        const int64_t sequence = c / 2, begin = layout.cu_keys[c], keys = layout.cu_keys[c + 1] - begin;
        const int64_t real = std::min(keys, tokens.length(sequence));
        const at::Tensor expected = at::zeros({keys}, at::kLong);
        expected.narrow(0, 0, real).copy_(tokens.ids.narrow(0, tokens.cu_seqlens[sequence], real));
        REQUIRE(list(ids.narrow(0, begin, keys)) == list(expected));
        REQUIRE(list(positions.narrow(0, begin, keys)) == list(at::arange(keys, at::kLong)));
        REQUIRE(layout.positions[layout.cu_queries[c + 1] - 1].item<int64_t>() == keys - 1);
        REQUIRE(keys <= layout.num_positions);
      }
    }
  }
}

TEST_CASE("what lies at the slots of all ranks comes back in packed order", "[model]") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const int64_t cp = std::vector{1, 2, 4}[seed % 3], tp = 1 + static_cast<int64_t>(seed / 3 % 3);
    const PackedTokens tokens = telling_tokens(random_lengths(seed));
    const at::Tensor x = tokens.ids * 7;
    std::vector<at::Tensor> slots;
    at::Tensor places;
    for (const TokenLayout& layout : lay_out_all(tokens, cp, tp)) {
      slots.push_back(to_slots(layout, x, -5));
      places = layout.result_rows;
      if (layout.tokens.defined()) REQUIRE(at::equal(slots.back().eq(-5), layout.tokens.lt(0)));
    }
    REQUIRE(at::equal(places.defined() ? at::cat(slots).index_select(0, places) : at::cat(slots), x));
  }
}

namespace {

/// Sequences whose first `shared[b]` tokens are those of the sequence before; all other tokens differ.
PackedTokens tree_of_tokens(const Numbers& lengths, const Numbers& shared, int64_t alignment) {
  std::vector<Numbers> sequences;
  for (size_t b = 0; b < lengths.size(); ++b) {
    sequences.emplace_back();
    for (int64_t i = 0; i < lengths[b]; ++i)
      sequences.back().push_back(i < shared[b] ? sequences[b - 1][i] : 100 * static_cast<int64_t>(b) + i + 1);
  }
  PackedTokens tokens = pack_tokens(sequences);
  tokens.tree = prefix_tree(tokens, alignment);
  return tokens;
}

}  // namespace

TEST_CASE("what sequences begin with alike, but for its last token, is one branch of a tree", "[model]") {
  const PackedTokens tokens = tree_of_tokens({6, 7, 3, 5, 2}, {0, 4, 3, 0, 2}, 1);
  // In lexicographic order: the second has 4 tokens of the first, the third is the second's beginning.
  const auto shared = [&](int64_t alignment) {
    std::vector<Numbers> found;
    for (const Branch& branch : prefix_tree(tokens, alignment)) found.push_back({branch.context, branch.shared});
    return found;
  };
  CHECK(shared(1) == std::vector<Numbers>{{2, 0}, {0, 2}, {1, 3}, {4, 0}, {3, 1}});
  CHECK(shared(2) == std::vector<Numbers>{{2, 0}, {0, 2}, {1, 2}, {4, 0}, {3, 0}});
  CHECK(shared(4).empty());
  CHECK(prefix_tree(telling_tokens({3, 5}), 1).empty());
  CHECK(prefix_tree(telling_tokens({3}), 1).empty());
}

TEST_CASE("the queries of a branch see the path from the root, and its tokens lie there once", "[model]") {
  for (uint64_t seed = 0; seed < 80; ++seed) {
    const int64_t cp = std::vector{1, 2, 4}[seed % 3], tp = 1 + static_cast<int64_t>(seed / 3 % 3);
    const int64_t alignment = sequence_alignment(cp, tp);
    Numbers lengths, shared;
    for (uint64_t i = 0; i < 2 + seed % 6; ++i) {
      lengths.push_back(1 + static_cast<int64_t>(60 * random_uniform({.seed = seed, .sequence = i})));
      const int64_t most = i > 0 ? std::min(lengths[i], lengths[i - 1]) : 0;
      shared.push_back(static_cast<int64_t>(static_cast<double>(most + 1) *
                                            random_uniform({.seed = seed, .step = 1, .sequence = i})));
    }
    const PackedTokens tokens = tree_of_tokens(lengths, shared, alignment);
    if (tokens.tree.empty()) continue;
    int64_t saved = 0, aligned = 0;
    for (const Branch& branch : tokens.tree) {
      saved += branch.shared;
      aligned += aligned_length(lengths[branch.context], alignment);
    }
    const auto ranks = lay_out_all(tokens, cp, tp);
    const at::Tensor all_ids = of_all_ranks(ranks, &TokenLayout::ids);
    const at::Tensor all_positions = of_all_ranks(ranks, &TokenLayout::positions);
    REQUIRE(all_ids.numel() == aligned - saved);
    CHECK(at::equal(all_ids.index_select(0, ranks[0].result_rows), tokens.ids));
    CHECK(at::equal(all_positions.index_select(0, ranks[0].result_rows), tokens.positions));
    const int64_t chunks = cp > 1 ? 2 : 1;
    for (const TokenLayout& layout : ranks) {
      REQUIRE(layout.ids.numel() * cp == all_ids.numel());
      REQUIRE(layout.ids.numel() % tp == 0);
      REQUIRE(std::ssize(layout.cu_queries) - 1 == chunks * tokens.num_sequences());
      for (int64_t c = 0; c + 1 < std::ssize(layout.cu_queries); ++c) {
        const int64_t sequence = tokens.tree[c / chunks].context, keys = layout.cu_keys[c + 1] - layout.cu_keys[c];
        const at::Tensor rows = layout.keys.narrow(0, layout.cu_keys[c], keys);
        const int64_t real = std::min(keys, tokens.length(sequence));
        REQUIRE(list(all_positions.index_select(0, rows)) == list(at::arange(keys, at::kLong)));
        REQUIRE(list(all_ids.index_select(0, rows.narrow(0, 0, real))) ==
                list(tokens.ids.narrow(0, tokens.cu_seqlens[sequence], real)));
        REQUIRE(layout.positions[layout.cu_queries[c + 1] - 1].item<int64_t>() == keys - 1);
      }
    }
  }
}

TEST_CASE("a shared token gets the exact sum of what its sequences make of it", "[model]") {
  const PackedTokens tokens = tree_of_tokens({6, 7, 5}, {0, 5, 5}, 1);
  const TokenLayout layout = lay_out(tokens, {});
  REQUIRE(layout.ids.numel() == 6 + 3 + 1);
  const at::Tensor x = layout.ids.to(at::kFloat).requires_grad_();
  const at::Tensor weights = at::arange(1, 19, at::kFloat) / 64;
  (to_packed(layout, x, {}) * weights).sum().backward();
  const at::Tensor expected = at::zeros_like(layout.ids, at::kFloat);
  for (int64_t t = 0; t < 18; ++t) expected[layout.host_result_rows[t]] += weights[t];
  CHECK(at::equal(x.grad(), expected));
  CHECK(x.grad()[0].item<float>() == (1 + 7 + 14) / 64.0F);
}

TEST_CASE("results come to every rank in packed order, and its own keep their gradient", "[model]") {
  for (const auto& wrong : test::run_local_ranks(4, [](Communicator& world) {
         Mesh mesh(world, {.cp = 2, .tp = 2});
         const ModelParallel parallel{&mesh.tp(), &mesh.cp()};
         const PackedTokens tokens = telling_tokens({5, 1, 9});
         const TokenLayout layout = lay_out(tokens, parallel);
         const at::Tensor x = to_slots(layout, tokens.ids, -5).to(at::kDouble).requires_grad_();
         const at::Tensor packed = to_packed(layout, x, parallel);
         (packed * tokens.ids).sum().backward();
         world.barrier("rank 0 holds the store until all have met");
         if (!at::equal(packed, tokens.ids.to(at::kDouble))) return std::string("other values");
         const bool right = at::equal(x.grad(), to_slots(layout, tokens.ids, 0).to(at::kDouble));
         return std::string(right ? "" : "another gradient");
       }))
    CHECK(wrong == "");
}

}  // namespace roll
