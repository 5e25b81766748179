// Sequences of several contexts are to a model what these are one by one: nothing is seen across their bounds.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "model/golden.h"
#include "model/parallel_outcome.h"
#include "model/telling_model.h"
#include "ops/dropout.h"
#include "packing/alignment.h"

namespace roll {
namespace {

using test::some_ids;

std::vector<int64_t> begun_alike(int64_t count, int64_t start) {
  std::vector<int64_t> ids = some_ids(9, 1);
  for (const int64_t id : some_ids(count, start)) ids.push_back(id);
  return ids;
}

PackedTokens apart(int64_t vocabulary) {
  std::vector<std::vector<int64_t>> contexts = {begun_alike(5, 2), begun_alike(70, 3), some_ids(1, 4),
                                                begun_alike(12, 5), some_ids(33, 6)};
  for (auto& ids : contexts)
    for (int64_t& id : ids) id %= vocabulary;
  return pack_tokens(contexts);
}

/// The same tokens as two sequences, of three and two contexts.
PackedTokens together(int64_t vocabulary) {
  PackedTokens tokens = apart(vocabulary);
  tokens.cu_contexts = tokens.cu_seqlens;
  tokens.cu_seqlens = {0, tokens.cu_contexts[3], tokens.cu_contexts[5]};
  return tokens;
}

}  // namespace

TEST_CASE("contexts of a sequence do not see each other, on any layout", "[model]") {
  const test::TemporaryFolder folder;
  const char* const name = GENERATE("qwen3_gqa", "qwen3_next");  // attention; delta nets and experts beside it
  const auto shape = GENERATE(MeshShape{}, MeshShape{.cp = 2}, MeshShape{.tp = 2});
  const bool shares = GENERATE(false, true);
  INFO(name << " cp " << shape.cp << " tp " << shape.tp << " shares " << shares);
  const Json golden = test::read_golden(name);
  test::write_golden_folder(golden, false, folder / "m");
  const int64_t vocabulary = golden["config"]["vocab_size"];
  const auto load = [&](const ModelParallel& parallel) {
    return Transformer::load(folder / "m", at::kCPU, at::kDouble, parallel);
  };
  const test::Outcome whole = test::policy_outcome(load({}), {}, apart(vocabulary));
  PackedTokens tokens = together(vocabulary);
  if (shares) tokens.tree = prefix_tree(tokens, sequence_alignment(shape.cp, shape.tp));
  for (const auto& wrong : test::run_local_ranks(static_cast<int>(shape.cp * shape.tp), [&](Communicator& world) {
         Mesh mesh(world, shape);
         const Transformer part = load(test::parallel_of(mesh));
         return test::differences(part, test::policy_outcome(part, {}, tokens), mesh, whole);
       }))
    REQUIRE(wrong == "");
}

TEST_CASE("the last token of a context predicts nothing, and the trie is one of contexts", "[model]") {
  const PackedTokens tokens = together(61), one_by_one = apart(61);
  CHECK(at::equal(labelled_tokens(tokens, {}), labelled_tokens(one_by_one, {})));
  CHECK(labelled_tokens(tokens, {}).numel() == tokens.num_tokens() - 5);
  CHECK(tokens.longest_context() == 79);
  const auto tree = prefix_tree(tokens, 1), wanted = prefix_tree(one_by_one, 1);
  REQUIRE(tree.size() == 5);
  int64_t shared = 0;
  for (size_t i = 0; i < tree.size(); ++i) {
    CHECK(tree[i].context == wanted[i].context);
    CHECK(tree[i].shared == wanted[i].shared);
    shared += tree[i].shared;
  }
  CHECK(shared == 2 * 8);  // of one sequence, too
  CHECK(at::equal(dropout_keys(tokens.ids, tokens.contexts(), 1, 2),
                  dropout_keys(one_by_one.ids, one_by_one.cu_seqlens, 1, 2)));
}

}  // namespace roll
