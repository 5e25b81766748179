// The CUDA paths against the CPU's, which are checked against Hugging Face.
// They run where a GPU is (scripts/gpu_check.py).
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "checkpoint/temporary_folder.h"
#include "decode/decoding.h"
#include "model/device.h"
#include "model/golden.h"
#include "model/log_probs.h"
#include "ops/attention.h"
#include "ops/linear_log_prob.h"
#include "optim/optimizer.h"

namespace roll {

namespace {

/// Largest difference over the largest value.
double relative(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.detach().cpu().to(at::kDouble), y = b.detach().cpu().to(at::kDouble);
  return ((x - y).abs().max() / y.abs().max().clamp_min(1e-30)).item<double>();
}

std::vector<at::Tensor> with_gradients(const at::Tensor& y, const std::vector<at::Tensor>& inputs) {
  (y * at::linspace(-1, 1, y.numel(), y.options()).reshape(y.sizes())).sum().backward();
  std::vector<at::Tensor> found = {y.detach()};
  for (const at::Tensor& input : inputs) found.push_back(input.grad());
  return found;
}

at::Tensor leaf(const at::Tensor& x, at::Device device, at::ScalarType dtype) {
  return x.detach().to(device, dtype, false, true).requires_grad_(true);
}

}  // namespace

TEST_CASE("the head's CUDA kernels give the CPU's log-probs, entropy and gradients", "[gpu]") {
  const int64_t vocab = GENERATE(3, 1000, 151936);
  const int64_t chunk_bytes = GENERATE(int64_t{1}, int64_t{1} << 30);
  const at::Tensor hidden = at::randn({5, 32}), weight = at::randn({vocab, 32}) * 0.3;
  const at::Tensor labels = at::tensor({2, -1, 0, 1, 2}, at::kLong);
  const LogProbOptions options{.temperature = 0.7, .with_entropy = true, .chunk_bytes = chunk_bytes};
  std::vector<std::vector<at::Tensor>> results;
  for (const at::Device device : {at::Device(at::kCPU), at::Device(at::kCUDA, 0)}) {
    const at::Tensor h = leaf(hidden, device, at::kFloat), w = leaf(weight, device, at::kFloat);
    const LogProbs y = linear_log_prob(h, w, labels.to(device), options);
    results.push_back(with_gradients(at::cat({y.log_probs, y.entropy}), {h, w}));
  }
  for (size_t i = 0; i < results[0].size(); ++i) CHECK(relative(results[1][i], results[0][i]) < 2e-3);  // TF32 is off
}

TEST_CASE("the head takes bfloat16 and keeps its logits in float32", "[gpu]") {
  const at::Tensor hidden = at::randn({64, 256}), weight = at::randn({5000, 256}) * 0.1;
  const at::Tensor labels = at::randint(5000, {64}, at::kLong);
  const auto h = leaf(hidden, at::kCUDA, at::kBFloat16), w = leaf(weight, at::kCUDA, at::kBFloat16);
  const auto h32 = leaf(h, at::kCPU, at::kFloat), w32 = leaf(w, at::kCPU, at::kFloat);
  const LogProbs y = linear_log_prob(h, w, labels.cuda(), {}), y32 = linear_log_prob(h32, w32, labels, {});
  CHECK(y.log_probs.scalar_type() == at::kFloat);
  const auto a = with_gradients(y.log_probs, {h, w}), b = with_gradients(y32.log_probs, {h32, w32});
  CHECK(relative(a[0], b[0]) < 1e-5);
  CHECK(relative(a[1], b[1]) < 2e-2);
  CHECK(relative(a[2], b[2]) < 2e-2);
}

TEST_CASE("CUDA attention equals the CPU's, packed and cached, in bfloat16 and float32", "[gpu]") {
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 2e-2}, {at::kFloat, 1e-4}}));
  const auto [heads, kv_heads] = GENERATE(table<int64_t, int64_t>({{4, 4}, {6, 2}}));
  const std::vector<int64_t> cu_seqlens = {0, 1, 3, 66, 130, 400};
  std::vector<at::Tensor> on_gpu, on_cpu;
  for (const int64_t h : {heads, kv_heads, kv_heads}) {
    on_gpu.push_back(leaf(at::randn({400, h, 64}), at::kCUDA, dtype));
    on_cpu.push_back(leaf(on_gpu.back(), at::kCPU, at::kFloat));
  }
  const auto run = [&](const std::vector<at::Tensor>& x) {
    return with_gradients(packed_attention(x[0], x[1], x[2], cu_seqlens, cu_seqlens, 0.125), x);
  };
  const auto a = run(on_gpu), b = run(on_cpu);
  for (size_t i = 0; i < a.size(); ++i) CHECK(relative(a[i], b[i]) < tolerance);
}

TEST_CASE("CUDA attention adds up the gradients of keys that several pieces name", "[gpu]") {
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 2e-2}, {at::kFloat, 1e-4}}));
  const std::vector<int64_t> cu_queries = {0, 100, 140, 200}, cu_keys = {0, 100, 220, 360};
  const at::Tensor rows =
      at::cat({at::arange(100, at::kLong), at::arange(80, at::kLong), at::arange(100, 140, at::kLong),
               at::arange(80, at::kLong), at::arange(140, 200, at::kLong)});
  std::vector<at::Tensor> on_gpu, on_cpu;
  for (const int64_t h : {6, 2, 2}) {
    on_gpu.push_back(leaf(at::randn({200, h, 64}), at::kCUDA, dtype));
    on_cpu.push_back(leaf(on_gpu.back(), at::kCPU, at::kFloat));
  }
  const auto run = [&](const std::vector<at::Tensor>& x) {
    Pieces pieces = pieces_on(x[0].device(), cu_queries, cu_keys);
    pieces.key_rows = rows.to(x[0].device());
    return with_gradients(packed_attention(x[0], x[1], x[2], pieces, 0.125), x);
  };
  const auto a = run(on_gpu), b = run(on_cpu);
  for (size_t i = 0; i < a.size(); ++i) CHECK(relative(a[i], b[i]) < tolerance);
}

TEST_CASE("the head's kernels run on the device of their tensors", "[gpu]") {
  const int64_t last = at::detail::getCUDAHooks().deviceCount() - 1;  // the first one where there is only one
  const at::Device device(at::kCUDA, static_cast<at::DeviceIndex>(last));
  use_device({at::kCUDA, 0});
  const at::Tensor hidden = at::randn({5, 32}), weight = at::randn({1000, 32}), labels = at::arange(5, at::kLong);
  const at::Tensor h = leaf(hidden, device, at::kFloat), w = leaf(weight, device, at::kFloat);
  const LogProbs found = linear_log_prob(h, w, labels.to(device), {}),
                 expected = linear_log_prob(hidden, weight, labels, {});
  CHECK(relative(found.log_probs, expected.log_probs) < 1e-4);
  found.log_probs.sum().backward();
  CHECK(h.grad().device() == device);
}

TEST_CASE("long sums of bfloat16 products are rounded once", "[gpu]") {
  use_device({at::kCUDA, 0});
  const auto options = at::TensorOptions(at::kCUDA).dtype(at::kBFloat16);
  const at::Tensor a = at::randn({16, 1 << 16}, options), b = at::randn({1 << 16, 16}, options);  // split over blocks
  const at::Tensor exact = at::mm(a.to(at::kDouble), b.to(at::kDouble));
  CHECK(((at::mm(a, b).to(at::kDouble) - exact).abs() <= exact.abs() / 256 + 0.02).all().item<bool>());
}

TEST_CASE("deterministic kernels give the same bits each time", "[gpu]") {
  use_deterministic_kernels();
  const std::vector<int64_t> cu_seqlens = {0, 700, 4000};
  const at::Tensor rows =
      at::arange(4000, at::kLong).remainder(7).cuda();  // each row is read, and added to, many times
  const auto dtype = GENERATE(at::kBFloat16, at::kFloat);
  const at::Tensor q = leaf(at::randn({4000, 8, 64}), at::kCUDA, dtype),
                   table = leaf(at::randn({7, 2, 64}), at::kCUDA, dtype);
  std::vector<at::Tensor> first;
  for (int run = 0; run < 5; ++run) {
    for (const at::Tensor& x : {q, table}) x.mutable_grad() = at::Tensor();
    const at::Tensor k = table.index_select(0, rows);
    const auto found = with_gradients(packed_attention(q, k, k, cu_seqlens, cu_seqlens, 0.125), {q, table});
    if (run == 0) first = found;
    for (size_t i = 0; i < found.size(); ++i) CHECK(at::equal(found[i], first[i]));
  }
  at::globalContext().setDeterministicAlgorithms(false, false);
}

TEST_CASE("a model on CUDA gives the CPU's log-probs, and decodes what it computes whole", "[gpu]") {
  const auto name = GENERATE(from_range(test::kGoldenModels));
  const at::ScalarType dtype = GENERATE(at::kBFloat16, at::kFloat);
  INFO(name << " in " << at::toString(dtype));
  const at::NoGradGuard no_grad;
  const Json golden = test::read_golden(name);
  const test::TemporaryFolder folder;
  test::write_golden_folder(golden, false, folder / "m");
  const auto ids = golden["ids"].get<std::vector<std::vector<int64_t>>>();
  const Transformer cpu = Transformer::load(folder / "m"), gpu = Transformer::load(folder / "m", at::kCUDA, dtype);
  const TokenLogProbs expected = token_log_probs(cpu, pack_tokens(ids), 1.0, true);
  const auto error_of = [&](const Transformer& model) {
    const TokenLogProbs own = token_log_probs(model, pack_tokens(ids, model.device()), 1.0, true);
    return std::max((own.log_probs.cpu() - expected.log_probs).abs().max().item<double>(),
                    (own.entropy.cpu() - expected.entropy).abs().max().item<double>());
  };
  // These weights are sharp: bfloat16 is off by tenths, wherever it is rounded.
  CHECK(error_of(gpu) < (dtype == at::kFloat ? 1e-4 : 2 * error_of(Transformer::load(folder / "m", at::kCPU, dtype))));

  const DecoderSizes sizes{.page_size = 16, .num_pages = 8, .max_length = 80, .max_rows = 80};
  const auto decoder = make_decoder(gpu, sizes);
  test::Decoding sequences(*decoder, sizes, gpu.spec().vocab_size, 1);
  const std::vector<int64_t>& row = ids.back();
  sequences.step({{0, {row.begin(), row.begin() + 9}}});
  const at::Tensor decoded = sequences.step({{0, {row[9]}}});
  const at::Tensor whole = gpu.logits(gpu.forward(pack_tokens({{row.begin(), row.begin() + 10}}, at::kCUDA)));
  CHECK(relative(decoded[0], whole[9]) < (dtype == at::kFloat ? 1e-4 : 5e-2));
}

TEST_CASE("a model of kernels and packed products is trained on CUDA as on the CPU", "[gpu]") {
  const auto [dtype, tolerance] = GENERATE(table<at::ScalarType, double>({{at::kBFloat16, 5e-2}, {at::kFloat, 2e-3}}));
  const bool qk_norm = GENERATE(false, true);
  const ModelSpec spec{.vocab_size = 640,
                       .hidden_size = 256,
                       .intermediate_size = 512,
                       .num_layers = 2,
                       .num_heads = 4,
                       .num_kv_heads = 2,
                       .head_dim = 64,
                       .tied_head = qk_norm,
                       .qkv_bias = !qk_norm,
                       .qk_norm = qk_norm};
  const Transformer gpu = Transformer::init(spec, 1, at::kCUDA, dtype), cpu = Transformer::init(spec, 1);
  for (size_t i = 0; i < cpu.parameters().size(); ++i) {
    const at::Tensor own = gpu.parameters()[i].second.detach();
    if (own.dim() == 1) own.add_(at::linspace(-0.5, 0.5, own.numel(), own.options()));  // norms and biases
    cpu.parameters()[i].second.detach().copy_(own);                                     // as they were rounded
  }
  FlatOptimizer buffers(gpu.parameters(), {});  // where packed products are one, and gradients float32
  const std::vector<std::vector<int64_t>> ids = {{5}, {1, 2, 3, 4, 5, 6, 7}, std::vector<int64_t>(200, 9), {8, 8, 8}};
  for (const Transformer* model : {&gpu, &cpu})
    token_log_probs(*model, pack_tokens(ids, model->device()), 1.0, false).log_probs.sum().backward();
  for (size_t i = 0; i < cpu.parameters().size(); ++i) {
    CAPTURE(cpu.parameters()[i].first);
    CHECK(relative(gpu.parameters()[i].second.grad(), cpu.parameters()[i].second.grad()) < tolerance);
  }
}

TEST_CASE("recomputation on CUDA gives the same gradients", "[gpu]") {
  const Json golden = test::read_golden("qwen3_gqa");
  const test::TemporaryFolder folder;
  Transformer model = Transformer::load(test::write_golden_folder(golden, false, folder / "m"), at::kCUDA, at::kFloat);
  const PackedTokens tokens = pack_tokens(golden["ids"].get<std::vector<std::vector<int64_t>>>(), at::kCUDA);
  std::vector<at::Tensor> gradients[2];
  for (const bool recompute : {false, true}) {
    token_log_probs(model, tokens, 1.0, false, recompute ? kEveryLayer : Recomputation{}).log_probs.sum().backward();
    for (auto& named : model.parameters()) {
      gradients[recompute].push_back(named.second.grad().clone());
      named.second.mutable_grad() = at::Tensor();
    }
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) CHECK(relative(gradients[1][i], gradients[0][i]) < 1e-4);
}

}  // namespace roll
