// What each architecture samples is what it trains on and what transformers generates: the tiny models of
// tests/oracles/make_golden_architectures.py, in pieces, forked, again from the start, beside others, by each decoder.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "decode/cpu_decoder.h"
#include "decode/decoding.h"
#include "decode/device_decoder.h"
#include "decode/device_sizes.h"
#include "decode/tensor_decoder.h"
#include "dist/local_ranks.h"
#include "model/features.h"
#include "model/golden.h"
#include "model/init_spec.h"
#include "model/parallel_outcome.h"

namespace roll {

using test::Decoding;

namespace {

constexpr int64_t kTinyVocab = 61;
constexpr double kClose = 3e-5;        // nats, of sums of float32 in another order
constexpr double kCloseStates = 3e-4;  // and of states, which go through all of the sequence
const DecoderSizes kTinySizes{.page_size = 8, .num_pages = 200, .max_length = 128, .max_rows = 200};

struct Golden {
  Json numbers;
  std::vector<int64_t> ids, greedy;
  Transformer model;
};

Golden load(const std::string& name, at::ScalarType dtype = at::kFloat) {
  const Json numbers = test::read_golden(name);
  const test::TemporaryFolder folder;
  return {numbers, numbers["ids"].back(), numbers["greedy"],
          Transformer::load(test::write_golden_folder(numbers, false, folder / "m"), at::kCPU, dtype)
              .for_length(test::golden_length(numbers))};
}

std::unique_ptr<Decoder> make_tiny(bool is_fast, const Transformer& model) {
  if (is_fast) return make_decoder(model, kTinySizes);
  return std::make_unique<TensorDecoder>(model, kTinySizes);
}

double largest_difference(const at::Tensor& logits, const at::Tensor& expected) {
  return (logits.log_softmax(-1) - expected.log_softmax(-1)).abs().max().item<double>();
}

}  // namespace

TEST_CASE("an architecture samples as it trains, and greedily as transformers", "[decode]") {
  const at::NoGradGuard no_grad;
  const auto name = GENERATE(from_range(test::kGoldenArchitectures), from_range(test::kGoldenDeltaNets),
                             from_range(test::kGoldenGemma4));
  const bool is_known = std::ranges::find(test::kGoldenGemma4, name) == test::kGoldenGemma4.end();
  const bool is_dense = std::ranges::find(test::kGoldenArchitectures, name) != test::kGoldenArchitectures.end();
  const bool is_fast = GENERATE(true, false);
  if (!is_known && is_fast) return;
  INFO(name << (is_fast ? ", fast" : ", of tensors"));
  CHECK(has_cpu_decoder(load(name).model) == is_known);
  const Golden golden = load(name, is_fast || is_dense ? at::kFloat : at::kDouble);
  const auto decoder = make_tiny(is_fast, golden.model);
  const double close = is_fast && !is_dense ? kCloseStates : kClose;
  std::vector<int64_t> ids = golden.ids;
  const int64_t prompt = std::ssize(ids), begun = 29;
  ids.insert(ids.end(), golden.greedy.begin(), golden.greedy.end());
  const at::Tensor expected = golden.model.logits(golden.model.forward(pack_tokens({ids})));
  Decoding sequences(*decoder, kTinySizes, kTinyVocab, 4);
  const auto part = [&](int64_t from, int64_t to) {
    return std::vector<int64_t>(ids.begin() + from, ids.begin() + to);
  };
  CHECK(largest_difference(sequences.step({{0, part(0, begun)}, {3, {5, 4}}})[0], expected[begun - 1]) < close);
  sequences.fork(0, 1);
  for (int64_t i = begun; i < prompt; i += 7) {  // a piece and, beside it, another sequence's token
    const int64_t end = std::min(prompt, i + 7);
    CHECK(largest_difference(sequences.step({{1, part(i, end)}, {3, {7}}})[0], expected[end - 1]) < close);
  }
  for (int64_t i = prompt; i < std::ssize(ids); ++i) {
    CHECK(expected[i - 1].argmax().item<int64_t>() == ids[i]);
    CHECK(largest_difference(sequences.step({{1, {ids[i]}}})[0], expected[i]) < close);
  }
  // Evicted: from the start, in one piece; the fork's origin goes on as if nothing had been.
  CHECK(largest_difference(sequences.step({{2, ids}})[0], expected[std::ssize(ids) - 1]) < close);
  CHECK(largest_difference(sequences.step({{0, part(begun, prompt)}})[0], expected[prompt - 1]) < close);
}

TEST_CASE("tensor ranks sample an architecture as one rank does", "[decode]") {
  const at::NoGradGuard no_grad;
  const std::string name = GENERATE("gpt_oss", "deepseek_v3", "deepseek_v2_lite", "solar_open");
  const bool is_fast = GENERATE(true, false);
  INFO(name << (is_fast ? ", fast" : ", of tensors"));
  const Json golden = test::read_golden(name);
  const test::TemporaryFolder folder;
  test::write_golden_folder(golden, false, folder / "m");
  const std::vector<int64_t> ids = golden["ids"].back();
  const auto logits_of = [&](const ModelParallel& parallel) {
    const Transformer model = Transformer::load(folder / "m", at::kCPU, at::kFloat, parallel);
    const auto decoder = make_tiny(is_fast, model);
    Decoding sequences(*decoder, kTinySizes, kTinyVocab, 1);
    sequences.step({{0, ids}});
    return sequences.step({{0, {3}}})[0];
  };
  const at::Tensor alone = logits_of({});
  for (const auto& wrong : test::run_local_ranks(2, [&](Communicator& world) -> std::string {
         Mesh mesh(world, {.tp = 2});
         const double difference = largest_difference(logits_of(test::parallel_of(mesh)), alone);
         return difference < kClose ? "" : fmt::format("differs by {}", difference);
       }))
    CHECK(wrong == "");
}

TEST_CASE("what is computed beside an architecture's sequence does not change its logits, to the bit", "[decode]") {
  const at::NoGradGuard no_grad;
  const std::string name =
      GENERATE(values<std::string>({"mistral_window", "olmo3_yarn", "smollm3_window", "deepseek_v3", "gpt_oss"}),
               from_range(test::kGoldenDeltaNets));
  const Golden golden = load(name);
  const auto decoder = make_tiny(true, golden.model);
  Decoding sequences(*decoder, kTinySizes, kTinyVocab, 5);
  const at::Tensor crowded = sequences.step({{0, {1, 2, 3}}, {1, golden.ids}, {2, {4}}})[1];
  const at::Tensor alone = sequences.step({{3, golden.ids}})[0];
  at::Tensor slowly;
  for (const int64_t id : golden.ids) slowly = sequences.step({{4, {id}}})[0];
  CHECK(at::equal(crowded, alone));
  CHECK(at::equal(slowly, alone));
}

TEST_CASE("a sequence begins behind what another one writes in the same call", "[decode]") {
  const at::NoGradGuard no_grad;
  const Golden golden = load(GENERATE(from_range(test::kGoldenDeltaNets)));
  const auto decoder = make_tiny(GENERATE(true, false), golden.model);
  const std::vector<int32_t> first = {3, 1, 4}, second = {3, 1, 5}, third = {3, 1, 5, 9}, alone = {0, 2, 6, 7};
  const auto rows_of = [&](const std::vector<int32_t>& pages, int64_t from, int64_t to) {
    std::vector<DecoderRow> rows;
    for (int64_t i = from; i < to; ++i) rows.push_back({.token = golden.ids[i], .position = i, .pages = pages.data()});
    return rows;
  };
  std::vector<DecoderRow> rows;
  for (const auto& part : {rows_of(first, 0, 20), rows_of(second, 16, 24), rows_of(third, 24, 27)})
    rows.insert(rows.end(), part.begin(), part.end());
  const auto logits_behind = [&](const std::vector<DecoderRow>& of) {
    const int64_t last = std::ssize(of) - 1;
    return at::from_blob(const_cast<float*>(decoder->run(of, {{last}}).data), {kTinyVocab}).clone();
  };
  const int threads = at::get_num_threads();
  at::set_num_threads(4);  // which would begin the second before the first has ended
  const at::Tensor together = logits_behind(rows);
  at::set_num_threads(threads);
  CHECK(largest_difference(together, logits_behind(rows_of(alone, 0, 27))) < kCloseStates);
}

TEST_CASE("a device's kernels are given no model with features that they do not compute", "[decode]") {
  int64_t known = 0;
  for (const Architecture& row : architectures()) {
    INFO(row.name);
    if (row.is_multimodal) continue;  // its text has a row
    InitSizes sizes;                  // all that the kernels ask of them
    sizes.arch = row.name;
    sizes.vocab = 64;
    sizes.hidden = 32;
    sizes.head_dim = 8;
    sizes.intermediate = 64;
    if (row.has_experts()) sizes.expert_intermediate = 16;
    const Transformer model = Transformer::init(make_spec(sizes, {}), 1);
    CHECK(has_device_kernels(model) == layer_features(model.spec()).are_within(kDeviceFeatures));
    known += has_device_kernels(model);
  }
  CHECK(known > 0);
  CHECK(known < std::ssize(architectures()));
}

}  // namespace roll
