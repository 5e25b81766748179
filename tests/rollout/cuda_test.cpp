// The device's steps on a GPU against the CPU's, whose twins of the same kernels the other tests run.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/random.h"
#include "checkpoint/temporary_folder.h"
#include "cuda/sample_rows.h"
#include "decode/decoder.h"
#include "device/device_graph.h"
#include "device/on_device.h"
#include "model/log_probs.h"
#include "model/telling_model.h"
#include "model/transformer.h"
#include "ops/sample_row.h"
#include "rollout/fake_model.h"

namespace roll {

namespace {

template <class T>
at::Tensor on_gpu(const std::vector<T>& values) {
  const auto bytes = static_cast<int64_t>(values.size() * sizeof(T));
  return at::from_blob(const_cast<T*>(values.data()), {bytes}, at::kByte).to(at::kCUDA);
}

template <class T>
std::vector<T> on_host(const at::Tensor& bytes) {
  const at::Tensor copy = bytes.cpu();
  const auto* const first = static_cast<const T*>(copy.const_data_ptr());
  return {first, first + copy.numel() / static_cast<int64_t>(sizeof(T))};
}

RowSampling gpu_sampling(int64_t i) {
  RowSampling sampling;
  sampling.inverse_temperature = 1 / (0.4 + 0.1 * static_cast<double>(i % 9));
  if (i & 1) sampling.top_p = 0.3 + 0.06 * static_cast<double>(i % 11);
  if (i & 2) sampling.top_k = 2 + i % 50;
  if (i & 4) sampling.least_p = 0.01f;
  if (i & 8) sampling.repetition = 1.2f, sampling.frequency = 0.3, sampling.presence = 0.1, sampling.is_counting = 1;
  if (i % 13 == 0) sampling.is_greedy = 1, sampling.inverse_temperature = 1;
  return sampling;
}

ModelSpec gpu_spec(bool has_extras) {
  ModelSpec spec;
  spec.vocab_size = 5003, spec.hidden_size = 256, spec.intermediate_size = 704, spec.num_layers = 3;
  spec.num_heads = has_extras ? 14 : 4, spec.num_kv_heads = 2, spec.head_dim = has_extras ? 64 : 128;
  spec.max_positions = 1024, spec.tied_head = !has_extras, spec.qkv_bias = true;
  spec.o_bias = has_extras, spec.mlp_bias = has_extras, spec.qk_norm = has_extras;
  return spec;
}

Transformer model_on(at::Device device, at::ScalarType dtype, bool has_extras) {
  Transformer model = Transformer::init(gpu_spec(has_extras), 7, device, dtype);
  const at::NoGradGuard no_grad;
  for (auto& [name, tensor] : model.parameters())
    if (tensor.dim() == 2) tensor.mul_(4);
  return model;
}

std::vector<GenerationRequest> gpu_requests() {
  std::vector<GenerationRequest> requests;
  for (int64_t i = 0; i < 60; ++i) {
    std::vector<int64_t> prompt;
    for (int64_t j = 0; j <= i / 3 * 25; ++j) prompt.push_back((i / 3 * 31 + j * 17) % 5003);
    requests.push_back({prompt, static_cast<uint64_t>(i)});
  }
  return requests;
}

SamplingParams gpu_params() {
  SamplingParams params;
  params.generating.temperature = 1, params.generating.top_p = 1, params.generating.top_k = 0;
  params.generating.max_new_tokens = 40;
  params.ignore_eos = true;
  return params;
}

}  // namespace

TEST_CASE("the device draws the CPU's token from the same logits, and counts it", "[gpu]") {
  const int64_t vocab = GENERATE(1, 257, 8192, 151936), splits = GENERATE(1, 7), rows = 96;
  const int64_t stride = (vocab + 3) / 4 * 4;
  at::Tensor logits = at::randn({rows, stride}) * 3;
  logits.slice(1, 0, stride, 3).copy_((logits.slice(1, 0, stride, 3) * 2).round() / 2);  // ties
  const int64_t room = 70;
  std::vector<SlotState> slots(rows);
  std::vector<RowDraw> draws(rows);
  std::vector<TouchedToken> touched(rows * room);
  for (int64_t i = 0; i < rows; ++i) {
    slots[i] = {.sampling = gpu_sampling(i), .name = {.seed = 3, .sequence = static_cast<uint64_t>(i), .step = 4}};
    draws[i] = {.slot = static_cast<int32_t>(i)};
    if (!slots[i].sampling.is_counting && i % 5 != 0) continue;
    slots[i].num_touched = static_cast<int32_t>(std::min<int64_t>(vocab, 60));
    for (int32_t j = 0; j < slots[i].num_touched; ++j)
      touched[i * room + j] = {.token = static_cast<int32_t>(vocab <= 60 ? j : j * 83 % vocab),
                               .count = slots[i].sampling.is_counting ? j % 4 - 1 : -1,
                               .bias = i % 5 == 0 ? 0.5f * static_cast<float>(j % 7) : 0.0f};
  }
  const at::Tensor gpu_logits = logits.to(at::kCUDA), gpu_slots = on_gpu(slots), gpu_draws = on_gpu(draws),
                   gpu_touched = on_gpu(touched), drawn = on_gpu(std::vector<DrawnToken>(rows)),
                   untouched = at::empty({rows * room}, gpu_logits.options()),
                   scratch = on_gpu(std::vector<RowScratch>(rows));
  launch_on(gpu_logits.device(), [&](void* stream) {
    cuda::sample_rows({.logits = gpu_logits.mutable_data_ptr<float>(),
                       .stride = stride,
                       .rows = rows,
                       .shard_stride = rows * stride,
                       .cut = make_row_cut(vocab, 1, splits),
                       .draws = static_cast<const RowDraw*>(gpu_draws.const_data_ptr()),
                       .slots = static_cast<SlotState*>(gpu_slots.mutable_data_ptr()),
                       .touched = static_cast<TouchedToken*>(gpu_touched.mutable_data_ptr()),
                       .original_logits = untouched.mutable_data_ptr<float>(),
                       .touched_per_slot = room,
                       .scratch = static_cast<RowScratch*>(scratch.mutable_data_ptr()),
                       .drawn = static_cast<DrawnToken*>(drawn.mutable_data_ptr())},
                      stream);
  });
  const auto found = on_host<DrawnToken>(drawn);
  const auto after = on_host<SlotState>(gpu_slots);
  RowSampler sampler;
  for (int64_t i = 0; i < rows; ++i) {
    CAPTURE(vocab, i);
    const DrawnToken expected = sampler.draw(
        {logits.const_data_ptr<float>() + i * stride, static_cast<size_t>(vocab)}, slots[i].sampling,
        {touched.data() + i * room, static_cast<size_t>(slots[i].num_touched)}, first_bits(named_words(slots[i].name)));
    REQUIRE(found[i].token == expected.token);
    REQUIRE(found[i].log_prob == Approx(expected.log_prob).margin(1e-6));
    REQUIRE(found[i].processed_log_prob == Approx(expected.processed_log_prob).margin(1e-6));
    REQUIRE(after[i].last_token == expected.token);
    REQUIRE(after[i].name.position == 1);
  }
}

TEST_CASE("a GPU's graph computes from what memory holds when it is replayed, and recording tells its first error",
          "[gpu]") {
  const at::Tensor x = at::ones({1000}, at::kCUDA), y = at::zeros_like(x);
  const auto recorder = make_graph_recorder(x.device());
  const auto work = [&] { y.copy_(x * 2); };  // with memory of its own
  work();
  recorder->record(work).reset();  // the last one there is, with its memory
  const auto graph = recorder->record(work);
  x.fill_(3);
  CHECK(y.sum().item<float>() == 2000);  // nothing has run
  graph->replay();
  CHECK(y.sum().item<float>() == 6000);
  CHECK_THROWS_WITH(recorder->record([&] { work(), throw SystemError("the first"); }), "the first");
  CHECK_THROWS(recorder->record([&] { y.sum().item<float>(); }));  // nobody may wait for a kernel that does not run
  const auto again = recorder->record(work);
  x.fill_(5);
  again->replay(), graph->replay();
  CHECK(y.sum().item<float>() == 10000);
}

TEST_CASE("the device's float32 responses are the CPU's, replayed, evicted and forked", "[gpu]") {
  const bool has_extras = GENERATE(false, true), tf32 = at::globalContext().allowTF32CuBLAS();
  REQUIRE(!tf32);
  const Transformer on_cpu = model_on(at::kCPU, at::kFloat, has_extras);
  const Transformer on_device = model_on(at::Device(at::kCUDA, 0), at::kFloat, has_extras);
  const auto requests = gpu_requests();
  const auto expected =
      generate_with(*make_step_model(on_cpu, {.num_slots = 60, .max_length = 560}), requests, gpu_params());
  const int64_t pages = GENERATE(0, 200);
  const auto steps = make_step_model(
      on_device, {.num_slots = 20, .max_length = 560, .kv_cache_bytes = pages * page_bytes(on_device, 16)});
  CHECK(steps->depth() == 1);
  const auto found = generate_with(*steps, requests, gpu_params());
  int64_t same = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (found[i].ids != expected[i].ids) continue;  // the last bit of a logit may decide
    ++same;
    for (size_t t = 0; t < found[i].ids.size(); ++t)
      REQUIRE(found[i].log_probs[t] == Approx(expected[i].log_probs[t]).margin(1e-4));
  }
  CHECK(same >= 57);
}

TEST_CASE("the device's mixtures in float32 give the CPU's responses", "[gpu]") {
  InitSizes sizes;
  sizes.arch = GENERATE("qwen3_moe", "qwen2_moe"), sizes.vocab = 5003, sizes.hidden = 256, sizes.layers = 2;
  sizes.heads = 4, sizes.kv_heads = 2, sizes.head_dim = 64, sizes.intermediate = 704;
  sizes.experts = 32, sizes.experts_per_token = 4, sizes.expert_intermediate = 96;
  const Transformer on_cpu = test::telling_model(sizes);
  const test::TemporaryFolder folder;
  on_cpu.save(folder / "m", {});
  const Transformer on_device = Transformer::load(folder / "m", at::Device(at::kCUDA, 0), at::kFloat);
  const auto requests = gpu_requests();
  const auto expected =
      generate_with(*make_step_model(on_cpu, {.num_slots = 60, .max_length = 560}), requests, gpu_params());
  const auto steps = make_step_model(on_device, {.num_slots = 20, .max_length = 560});
  CHECK(steps->depth() == 1);
  const auto found = generate_with(*steps, requests, gpu_params());
  int64_t same = 0;
  for (size_t i = 0; i < requests.size(); ++i) same += found[i].ids == expected[i].ids;
  CHECK(same >= 54);  // the last bit of a logit, or of a router's, may decide
}

TEST_CASE("the device's log-probs in narrow floats are near those of the packed forward pass", "[gpu]") {
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kHalf);
  const Transformer model = model_on(at::Device(at::kCUDA, 0), dtype, GENERATE(false, true));
  const auto requests = gpu_requests();
  const auto found =
      generate_with(*make_step_model(model, {.num_slots = 32, .max_length = 560}), requests, gpu_params());
  const at::NoGradGuard no_grad;
  double sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    std::vector<int64_t> ids = requests[i].prompt_ids;
    ids.insert(ids.end(), found[i].ids.begin(), found[i].ids.end());
    const at::Tensor packed = token_log_probs(model, pack_tokens({ids}, model.device()), 1.0, false).log_probs.cpu();
    for (size_t t = 0; t < found[i].ids.size(); ++t, ++count)
      sum += std::abs(packed[static_cast<int64_t>(requests[i].prompt_ids.size() + t) - 1].item<double>() -
                      static_cast<double>(found[i].log_probs[t]));
  }
  CHECK(sum / static_cast<double>(count) < 0.05);
}

}  // namespace roll
