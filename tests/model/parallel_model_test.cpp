// The models whose weights and sequences are shared by ranks against the whole ones, in float64: what remains is
// another order of sums.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "decode/decoding.h"
#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "model/parallel_outcome.h"
#include "model/some_ids.h"
#include "model/telling_model.h"
#include "model/transformer.h"
#include "model/value_model.h"
#include "packing/alignment.h"

namespace roll {

using test::differences;
using test::Outcome;
using test::parallel_of;
using test::policy_outcome;
using test::run_local_ranks;
using test::some_ids;
using test::some_tokens;
using test::TemporaryFolder;
using test::value_outcome;

namespace {

/// 4 heads over 2 key/value heads; vocabulary 71 and inner size 46 divide by neither 2 nor 4 (46: by 2).
void save_tiny(const std::filesystem::path& folder, const char* arch, bool tie) {
  InitSizes sizes;
  sizes.arch = arch;
  sizes.tie = tie;
  sizes.vocab = 71;
  sizes.hidden = 32;
  sizes.layers = 2;
  sizes.kv_heads = 2;
  sizes.intermediate = 46;
  test::telling_model(sizes).save(folder);
}

void save_tiny_critic(const std::filesystem::path& policy, const std::filesystem::path& folder) {
  ValueModel critic = ValueModel::load(policy);
  {
    const at::NoGradGuard no_grad;
    for (auto& [name, tensor] : critic.parameters())
      if (name.starts_with("score.")) tensor.add_(at::linspace(-0.5, 1, tensor.numel()).view(tensor.sizes()));
  }
  critic.save(folder);
}

/// Two groups, one of them with a deeper fork and a response that is another's beginning. Sharing leaves out some
/// tokens.
PackedTokens groups_of_tokens() {
  const auto path = [](std::initializer_list<std::pair<int64_t, int64_t>> parts) {
    std::vector<int64_t> ids;
    for (const auto& [count, start] : parts) std::ranges::copy(some_ids(count, start), std::back_inserter(ids));
    return ids;
  };
  return pack_tokens({path({{25, 1}, {9, 2}}), path({{13, 8}, {20, 3}}), path({{25, 1}, {12, 4}, {7, 5}}),
                      path({{25, 1}, {12, 4}, {3, 6}}), path({{25, 1}, {9, 2}, {2, 7}}), path({{13, 8}, {1, 9}})});
}

PackedTokens shared(PackedTokens tokens, const ModelParallel& parallel) {
  tokens.tree = prefix_tree(tokens, sequence_alignment(parallel.cp_size(), parallel.tp_size()));
  if (tokens.tree.empty()) throw std::logic_error("these tokens share something under any layout");
  return tokens;
}

struct Layout {
  int64_t cp, tp;
  int ranks() const { return static_cast<int>(cp * tp); }
  MeshShape shape() const { return {.cp = cp, .tp = tp}; }
};

Layout any_layout() {
  return GENERATE(Layout{1, 2}, Layout{2, 1}, Layout{2, 2}, Layout{1, 4});
}
Layout layout_of_groups() {
  return GENERATE(Layout{1, 1}, Layout{1, 2}, Layout{2, 1}, Layout{2, 2});
}

/// float32 log-probs of a model cut as `layout` says, on rank 0.
at::Tensor log_probs_under(const std::filesystem::path& folder, const Layout& layout, const PackedTokens& tokens) {
  at::Tensor found;
  const auto said = run_local_ranks(layout.ranks(), [&](Communicator& world) {
    const at::NoGradGuard no_grad;
    Mesh mesh(world, layout.shape());
    const Transformer model = Transformer::load(folder, at::kCPU, at::kFloat, parallel_of(mesh));
    const at::Tensor own = token_log_probs(model, tokens, 1.0, false).log_probs;
    if (world.is_first()) found = own;
    world.barrier("rank 0 holds the store until all have met");
    return std::string();
  });
  for (const auto& text : said) REQUIRE(text == "");
  return found;
}

std::string float_bits(const at::Tensor& x) {
  const at::Tensor dense = x.contiguous();
  return {static_cast<const char*>(dense.data_ptr()), dense.nbytes()};
}

/// Logits of three prompts and of five decoded tokens: [steps * B, V].
at::Tensor sampled_logits(const Transformer& model, bool weight_bits = false) {
  const at::NoGradGuard no_grad;
  const DecoderSizes sizes{
      .page_size = 8, .num_pages = 16, .max_length = 24, .max_rows = 32, .weight_bits = weight_bits};
  const auto decoder = make_decoder(model, sizes);
  test::Decoding sequences(*decoder, sizes, model.spec().vocab_size, 3);
  std::vector<at::Tensor> all = {sequences.step({{2, some_ids(4, 1)}, {0, some_ids(1, 2)}, {1, some_ids(11, 3)}})};
  for (int64_t step = 0; step < 5; ++step)
    all.push_back(sequences.step({{2, {(5 + step) % 71}}, {0, {(11 + step) % 71}}, {1, {(66 + step) % 71}}}));
  return at::cat(all);
}

}  // namespace

TEST_CASE("a policy shared by ranks has the log-probs, entropy and gradient of the whole one", "[model]") {
  const auto [arch, tie] = GENERATE(table<const char*, bool>(
      {{"qwen2", true}, {"qwen3", false}, {"llama", true}, {"qwen2_moe", true}, {"qwen3_moe", false}}));
  const Recomputation recompute = GENERATE(Recomputation{}, kEveryLayer);
  const Layout layout = any_layout();
  const TemporaryFolder folder;
  save_tiny(folder / "m", arch, tie);
  const Outcome whole = policy_outcome(Transformer::load(folder / "m", at::kCPU, at::kDouble), {});
  INFO(arch << " cp " << layout.cp << " tp " << layout.tp << " recomputed " << recompute.layers);
  for (const auto& wrong : run_local_ranks(layout.ranks(), [&](Communicator& world) {
         Mesh mesh(world, layout.shape());
         const Transformer model = Transformer::load(folder / "m", at::kCPU, at::kDouble, parallel_of(mesh));
         return differences(model, policy_outcome(model, recompute), mesh, whole);
       }))
    CHECK(wrong == "");
}

TEST_CASE("sequences that share what they begin with have the log-probs and gradient of whole ones", "[model]") {
  const auto [arch, tie] =
      GENERATE(table<const char*, bool>({{"qwen2", true}, {"qwen3", false}, {"llama", true}, {"qwen3_moe", false}}));
  const Recomputation recompute = GENERATE(Recomputation{}, kEveryLayer);
  const Layout layout = layout_of_groups();
  const TemporaryFolder folder;
  save_tiny(folder / "m", arch, tie);
  const PackedTokens tokens = groups_of_tokens();
  const Outcome whole = policy_outcome(Transformer::load(folder / "m", at::kCPU, at::kDouble), {}, tokens);
  INFO(arch << " cp " << layout.cp << " tp " << layout.tp << " recomputed " << recompute.layers);
  for (const auto& wrong : run_local_ranks(layout.ranks(), [&](Communicator& world) {
         Mesh mesh(world, layout.shape());
         const Transformer model = Transformer::load(folder / "m", at::kCPU, at::kDouble, parallel_of(mesh));
         return differences(model, policy_outcome(model, recompute, shared(tokens, model.parallel())), mesh, whole);
       }))
    CHECK(wrong == "");
}

TEST_CASE("sequences that share what they begin with have the values and gradient of whole ones", "[model]") {
  const Layout layout = layout_of_groups();
  const TemporaryFolder folder;
  save_tiny(folder / "m", "qwen2", true);
  save_tiny_critic(folder / "m", folder / "c");
  const PackedTokens tokens = groups_of_tokens();
  const Outcome whole = value_outcome(ValueModel::load(folder / "c", at::kCPU, at::kDouble), {}, tokens);
  INFO("cp " << layout.cp << " tp " << layout.tp);
  for (const auto& wrong : run_local_ranks(layout.ranks(), [&](Communicator& world) {
         Mesh mesh(world, layout.shape());
         const ValueModel model = ValueModel::load(folder / "c", at::kCPU, at::kDouble, parallel_of(mesh));
         return differences(model, value_outcome(model, kEveryLayer, shared(tokens, model.parallel())), mesh, whole);
       }))
    CHECK(wrong == "");
}

TEST_CASE("a critic shared by ranks has the values and gradient of the whole one", "[model]") {
  const Recomputation recompute = GENERATE(Recomputation{}, kEveryLayer);
  const Layout layout = any_layout();
  const TemporaryFolder folder;
  save_tiny(folder / "m", "qwen2", true);
  save_tiny_critic(folder / "m", folder / "c");
  const Outcome whole = value_outcome(ValueModel::load(folder / "c", at::kCPU, at::kDouble), {});
  INFO("cp " << layout.cp << " tp " << layout.tp << " recomputed " << recompute.layers);
  for (const auto& wrong : run_local_ranks(layout.ranks(), [&](Communicator& world) {
         Mesh mesh(world, layout.shape());
         const ValueModel model = ValueModel::load(folder / "c", at::kCPU, at::kDouble, parallel_of(mesh));
         return differences(model, value_outcome(model, recompute), mesh, whole);
       }))
    CHECK(wrong == "");
}

TEST_CASE("a change in one sequence leaves the others' log-probs alone, to the bit, on shared models too", "[model]") {
  const Layout layout = GENERATE(Layout{1, 2}, Layout{2, 1});
  const TemporaryFolder folder;
  save_tiny(folder / "m", "qwen3", true);
  const auto first = some_ids(20, 1), changed = some_ids(33, 2), other = some_ids(33, 9), last = some_ids(13, 3);
  const at::Tensor before = log_probs_under(folder / "m", layout, pack_tokens({first, changed, last}));
  const at::Tensor after = log_probs_under(folder / "m", layout, pack_tokens({first, other, last}));
  CHECK(at::equal(before.narrow(0, 0, 20), after.narrow(0, 0, 20)));
  CHECK(at::equal(before.narrow(0, 53, 13), after.narrow(0, 53, 13)));
  CHECK_FALSE(at::allclose(before.narrow(0, 20, 33), after.narrow(0, 20, 33)));
}

TEST_CASE("what a token's successors are does not change its log-prob under context parallelism", "[model]") {
  const TemporaryFolder folder;
  save_tiny(folder / "m", "qwen2", true);
  auto a = some_ids(16, 1), b = a;
  for (size_t i = 9; i < 16; ++i) b[i] = (b[i] + 13) % 71;  // chunks of 4: from the middle of the third one on
  const at::Tensor x = log_probs_under(folder / "m", {2, 1}, pack_tokens({a}));
  const at::Tensor y = log_probs_under(folder / "m", {2, 1}, pack_tokens({b}));
  CHECK(at::allclose(x.narrow(0, 0, 8), y.narrow(0, 0, 8), 1e-6, 1e-6));
  CHECK_FALSE(at::allclose(x.narrow(0, 8, 7), y.narrow(0, 8, 7), 1e-3, 1e-3));
}

TEST_CASE("tensor ranks that sample see the same bits, close to the whole model's", "[model]") {
  const auto [arch, tie] = GENERATE(table<const char*, bool>({{"qwen2", true}, {"qwen3", false}, {"llama", true}}));
  const int num_ranks = GENERATE(2, 4);
  const bool weight_bits = GENERATE(false, true);
  const TemporaryFolder folder;
  save_tiny(folder / "m", arch, tie);
  const at::Tensor whole = sampled_logits(Transformer::load(folder / "m"));
  std::vector<at::Tensor> found(static_cast<size_t>(num_ranks));
  for (const auto& text : run_local_ranks(num_ranks, [&](Communicator& tp) {
         const Transformer model = Transformer::load(folder / "m", at::kCPU, at::kFloat, {.tp = &tp, .cp = nullptr});
         found[static_cast<size_t>(tp.rank())] = sampled_logits(model, weight_bits);
         return std::string();
       }))
    REQUIRE(text == "");
  for (const at::Tensor& logits : found) {
    CHECK(float_bits(logits) == float_bits(found[0]));
    if (weight_bits)
      CHECK((logits - whole).abs().mean().item<double>() < 0.05 * whole.abs().mean().item<double>());
    else
      CHECK(at::allclose(logits, whole, 1e-4, 1e-4));
  }
}

TEST_CASE("a rank's cache holds its own key/value heads, at least one", "[model]") {
  const TemporaryFolder folder;
  save_tiny(folder / "m", "qwen2", true);
  for (const int num_ranks : {1, 2, 4}) {
    const auto said = run_local_ranks(num_ranks, [&](Communicator& tp) {
      const Transformer model = Transformer::load(folder / "m", at::kCPU, at::kFloat, {.tp = &tp, .cp = nullptr});
      return std::to_string(page_bytes(model, 1) / (2 * 2 * 8 * 4));  // layers, keys and values, float32 of a head
    });
    for (const auto& text : said) CHECK(text == (num_ranks == 1 ? "2" : "1"));
  }
}

}  // namespace roll
