#include "ops/linear_log_prob.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "dist/local_ranks.h"
#include "ops/fake_device.h"
#include "ops/log_prob_rows.h"

namespace roll {

namespace {

struct Inputs {
  at::Tensor hidden, weight, labels;
};

Inputs make_inputs(int64_t tokens, int64_t width, int64_t vocab, at::ScalarType dtype) {
  const auto options = at::TensorOptions().dtype(dtype);
  Inputs x{at::randn({tokens, width}, options), at::randn({vocab, width}, options),
           at::randint(vocab, {tokens}, at::kLong)};
  x.labels.slice(0, 0, tokens, 3).fill_(-1);
  x.hidden.requires_grad_(true);
  x.weight.requires_grad_(true);
  return x;
}

/// The straightforward graph.
LogProbs plain(const Inputs& x, double temperature) {
  const at::Tensor all = at::log_softmax(at::mm(x.hidden, x.weight.t()) / temperature, -1);
  const at::Tensor valid = x.labels.ge(0);
  return {all.gather(1, x.labels.clamp_min(0).unsqueeze(1)).squeeze(1) * valid, -(all.exp() * all).sum(-1) * valid};
}

/// log-probs, entropy and the gradients of a loss that weighs both.
std::vector<at::Tensor> results(const LogProbs& y, const Inputs& x, double entropy_weight) {
  const at::Tensor ramp = at::linspace(-1, 2, x.labels.numel(), x.hidden.options());
  at::Tensor loss = (y.log_probs * ramp).sum();
  if (y.entropy.defined()) loss = loss + entropy_weight * (y.entropy * ramp.cos()).sum();
  loss.backward();
  std::vector<at::Tensor> found = {y.log_probs.detach(), x.hidden.grad().clone(), x.weight.grad().clone()};
  if (y.entropy.defined()) found.push_back(y.entropy.detach());
  x.hidden.mutable_grad() = at::Tensor();
  x.weight.mutable_grad() = at::Tensor();
  return found;
}

void check_same(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b, double tolerance) {
  for (size_t i = 0; i < a.size(); ++i) {
    INFO("result " << i);
    CHECK(at::allclose(a[i], b[i], tolerance, tolerance * b[i].abs().max().item<double>()));
  }
}

/// What is wrong on a rank that holds rows [begin, end) of the head, against results() of the whole one.
std::string shard_difference(Communicator& ranks, const Inputs& whole, const std::vector<at::Tensor>& expected,
                             LogProbOptions options, int64_t begin, int64_t end) {
  const Inputs own{whole.hidden.detach().clone().requires_grad_(true),
                   whole.weight.detach().narrow(0, begin, end - begin).clone().requires_grad_(true), whole.labels};
  options.shard = {begin, [&](const at::Tensor& x) { return at::stack(ranks.all_gather(x, "log-probs")); }};
  auto found = results(linear_log_prob(own.hidden, own.weight, own.labels, options), own, 0.7);
  ranks.all_reduce_sum(found[1], "shares of the hidden states' gradient");
  std::string wrong;
  for (size_t i = 0; i < found.size(); ++i) {
    const at::Tensor right = i == 2 ? expected[i].narrow(0, begin, end - begin) : expected[i];
    if (!at::allclose(found[i], right, 1e-10, 1e-10)) wrong += fmt::format("result {} ", i);
  }
  return wrong;
}

}  // namespace

TEST_CASE("a head whose vocabulary is cut over ranks gives the results of the whole one", "[ops]") {
  const int64_t chunk_bytes = GENERATE(1, 3 * 4 * 8, 1 << 20);  // one row, about three rows, everything
  const double temperature = GENERATE(1.0, 0.6);
  const bool with_entropy = GENERATE(true, false);
  const Inputs x = make_inputs(20, 7, 11, at::kDouble);
  LogProbs reference = plain(x, temperature);
  if (!with_entropy) reference.entropy = at::Tensor();
  const auto expected = results(reference, x, 0.7);
  const LogProbOptions options{.temperature = temperature, .with_entropy = with_entropy, .chunk_bytes = chunk_bytes};
  const std::vector<int64_t> bounds = {0, 4, 5, 11};  // of three ranks
  for (const auto& wrong : test::run_local_ranks(3, [&](Communicator& ranks) {
         const auto r = static_cast<size_t>(ranks.rank());
         return shard_difference(ranks, x, expected, options, bounds[r], bounds[r + 1]);
       }))
    CHECK(wrong == "");
}

TEST_CASE("the energy is the squared norm of the gradient by the logits, on any ranks and in any chunks", "[ops]") {
  const int64_t chunk_bytes = GENERATE(1, 3 * 4 * 8, 1 << 20);
  const double temperature = GENERATE(1.0, 0.6);
  const Inputs x = make_inputs(20, 7, 11, at::kDouble);
  const at::Tensor logits = (at::mm(x.hidden, x.weight.t()) / temperature).detach().requires_grad_(true);
  const at::Tensor valid = x.labels.ge(0);
  (at::log_softmax(logits, -1).gather(1, x.labels.clamp_min(0).unsqueeze(1)).squeeze(1) * valid).sum().backward();
  const at::Tensor expected = logits.grad().square().sum(-1);
  LogProbOptions options{.temperature = temperature, .with_energy = true, .chunk_bytes = chunk_bytes};
  const at::NoGradGuard no_grad;
  CHECK(at::allclose(linear_log_prob(x.hidden, x.weight, x.labels, options).energy, expected, 1e-12, 1e-12));
  const std::vector<int64_t> bounds = {0, 4, 5, 11};
  for (const auto& wrong : test::run_local_ranks(3, [&](Communicator& ranks) {
         const at::NoGradGuard on_this_thread;
         const auto r = static_cast<size_t>(ranks.rank());
         LogProbOptions cut = options;
         cut.shard = {bounds[r], [&](const at::Tensor& y) { return at::stack(ranks.all_gather(y, "log-probs")); }};
         const auto found =
             linear_log_prob(x.hidden, x.weight.slice(0, bounds[r], bounds[r + 1]), x.labels, cut).energy;
         return std::string(at::allclose(found, expected, 1e-12, 1e-12) ? "" : "another energy");
       }))
    CHECK(wrong == "");
}

namespace {

/// log-probs and logits of choices, and the gradients of a loss of both.
std::vector<at::Tensor> results_of_choices(const LogProbs& y, const Inputs& x) {
  const at::Tensor ramp = at::linspace(-1, 2, x.labels.numel(), x.hidden.options());
  ((y.log_probs * ramp).sum() + (at::log_softmax(y.choice_logits, -1) * ramp.cos().unsqueeze(1)).square().sum())
      .backward();
  return {y.log_probs.detach(), y.choice_logits.detach(), x.hidden.grad().clone(), x.weight.grad().clone()};
}

Inputs copy_of(const Inputs& x, int64_t begin, int64_t end) {
  return {x.hidden.detach().clone().requires_grad_(true),
          x.weight.detach().slice(0, begin, end).clone().requires_grad_(true), x.labels};
}

}  // namespace

TEST_CASE("the logits of choices are those of plain autograd, on any ranks and in any chunks", "[ops]") {
  const int64_t chunk_bytes = GENERATE(1, 3 * 4 * 8, 1 << 20);
  const double cap = GENERATE(0.0, 3.0);
  const Inputs x = make_inputs(20, 7, 11, at::kDouble);
  const at::Tensor choices = std::get<1>(at::rand({20, 11}).sort(-1)).slice(1, 0, 4);
  LogProbOptions options{.temperature = 0.6, .cap = cap, .chunk_bytes = chunk_bytes, .choices = choices};

  const at::Tensor logits = at::mm(x.hidden, x.weight.t());
  const at::Tensor capped = cap > 0 ? cap * (logits / cap).tanh() : logits, valid = x.labels.ge(0);
  const at::Tensor log_probs = at::log_softmax(capped / 0.6, -1).gather(1, x.labels.clamp_min(0).unsqueeze(1));
  const auto expected = results_of_choices(
      {.log_probs = log_probs.squeeze(1) * valid, .choice_logits = capped.gather(1, choices) * valid.unsqueeze(1)}, x);

  const Inputs whole = copy_of(x, 0, 11);
  check_same(results_of_choices(linear_log_prob(whole.hidden, whole.weight, whole.labels, options), whole), expected,
             1e-12);
  const std::vector<int64_t> bounds = {0, 4, 5, 11};
  for (const auto& wrong : test::run_local_ranks(3, [&](Communicator& ranks) {
         const int64_t begin = bounds[ranks.rank()], end = bounds[ranks.rank() + 1];
         const Inputs own = copy_of(x, begin, end);
         LogProbOptions cut = options;
         cut.shard = {begin, [&](const at::Tensor& y) { return at::stack(ranks.all_gather(y, "log-probs")); }};
         auto found = results_of_choices(linear_log_prob(own.hidden, own.weight, own.labels, cut), own);
         ranks.all_reduce_sum(found[2], "shares of the hidden states' gradient");
         std::string differs;
         for (size_t i = 0; i < found.size(); ++i)
           if (!at::allclose(found[i], i == 3 ? expected[i].slice(0, begin, end) : expected[i], 1e-10, 1e-10))
             differs += fmt::format("result {} ", i);
         return differs;
       }))
    CHECK(wrong == "");
}

TEST_CASE("the largest logits are those of the whole head, on any ranks and in any chunks", "[ops]") {
  const Inputs x = make_inputs(9, 7, 11, at::kDouble);
  const at::NoGradGuard no_grad;
  const int64_t k = GENERATE(1, 4, 8), vocabulary = GENERATE(8, 11);
  const auto [values, ids] = at::mm(x.hidden, x.weight.t()).slice(1, 0, vocabulary).topk(k, 1);
  LogProbOptions options{.chunk_bytes = GENERATE(1, 1 << 20)};
  const TopLogits whole = top_logits(x.hidden, x.weight, k, vocabulary, options);
  CHECK(at::allclose(whole.logits, values));
  CHECK(whole.ids.equal(ids));
  const std::vector<int64_t> bounds = {0, 2, 9, 11};  // the first has fewer than k, the last nothing of 8 tokens
  for (const auto& wrong : test::run_local_ranks(3, [&](Communicator& ranks) {
         const at::NoGradGuard on_this_thread;
         const int64_t begin = bounds[ranks.rank()];
         LogProbOptions cut = options;
         cut.shard = {begin, [&](const at::Tensor& y) { return at::stack(ranks.all_gather(y, "log-probs")); }};
         const TopLogits found =
             top_logits(x.hidden, x.weight.slice(0, begin, bounds[ranks.rank() + 1]), k, vocabulary, cut);
         return std::string(found.ids.equal(ids) && at::allclose(found.logits, values) ? "" : "others");
       }))
    CHECK(wrong == "");
}

TEST_CASE("the energy of a sure token keeps its digits", "[ops]") {
  // Two tokens, the other of which has probability 1e-5: both parts are its square, which 1 - 2 p + sum p^2 would lose.
  const at::Tensor weight = at::tensor({0.0F, std::log(1e-5F)}).unsqueeze(1), hidden = at::ones({1, 1});
  const at::NoGradGuard no_grad;
  const auto y = linear_log_prob(hidden, weight, at::zeros({1}, at::kLong), {.with_energy = true});
  CHECK(y.energy.item<double>() == Approx(2e-10).epsilon(0.02));
}

TEST_CASE("a cut head without any label takes part and gives zeros", "[ops]") {
  const Inputs x = make_inputs(5, 4, 11, at::kDouble);
  const Inputs none{x.hidden, x.weight, at::full({5}, -1, at::kLong)};
  const std::vector<at::Tensor> zeros = {at::zeros({5}, at::kDouble), at::zeros({5, 4}, at::kDouble),
                                         at::zeros({11, 4}, at::kDouble), at::zeros({5}, at::kDouble)};
  for (const auto& wrong : test::run_local_ranks(2, [&](Communicator& ranks) {
         const int64_t begin = ranks.rank() * 6;
         return shard_difference(ranks, none, zeros, {.with_entropy = true}, begin, std::min<int64_t>(begin + 6, 11));
       }))
    CHECK(wrong == "");
}

TEST_CASE("the chunked head equals plain autograd in float64, whatever the chunk", "[ops]") {
  const int64_t chunk_bytes = GENERATE(1, 3 * 31 * 8, 1 << 20);  // one row, three rows, everything
  const double temperature = GENERATE(1.0, 0.6, 2.5);
  const Inputs x = make_inputs(20, 7, 31, at::kDouble);
  const LogProbOptions options{.temperature = temperature, .with_entropy = true, .chunk_bytes = chunk_bytes};
  check_same(results(linear_log_prob(x.hidden, x.weight, x.labels, options), x, 0.7),
             results(plain(x, temperature), x, 0.7), 1e-10);
}

TEST_CASE("the chunked head equals plain autograd in float32 with peaked distributions", "[ops]") {
  const Inputs x = make_inputs(50, 64, 1000, at::kFloat);
  const LogProbOptions options{.temperature = 0.5, .with_entropy = true, .chunk_bytes = 40000};
  check_same(results(linear_log_prob(x.hidden, x.weight, x.labels, options), x, 0.7), results(plain(x, 0.5), x, 0.7),
             2e-4);
}

TEST_CASE("log-probs and entropies of a large vocabulary err to both sides alike", "[ops]") {
  at::manual_seed(17);
  const int64_t rows = 64, vocabulary = 262144;
  const at::Tensor logits = at::randn({rows, vocabulary}) * at::linspace(1, 4, rows).unsqueeze(1);
  const at::Tensor labels = at::randint(vocabulary, {rows}, at::kLong), wide = logits.to(at::kDouble);
  const at::Tensor logsumexp = wide.logsumexp(1), p = (wide - logsumexp.unsqueeze(1)).exp_();
  const at::Tensor log_probs = wide.gather(1, labels.unsqueeze(1)).squeeze(1) - logsumexp;
  const at::Tensor entropy = logsumexp - p.mul_(wide).sum(1);
  const auto check_unbiased = [&](const char* name, const at::Tensor& found, const at::Tensor& right) {
    const at::Tensor error = found.to(at::kDouble) - right;
    INFO(name << ": mean error " << error.mean().item<double>() << ", largest " << error.abs().max().item<double>());
    CHECK(std::abs(error.mean().item<double>()) < 2e-7);  // with one float32 a lane 8e-6
    CHECK(error.abs().max().item<double>() < 2e-6);       // 4e-5
    CHECK(error.gt(0).to(at::kDouble).mean().item<double>() == Approx(0.5).margin(0.2));
  };
  for (const bool with_entropy : {false, true}) {
    const RowResults found{at::empty({rows}), at::zeros({rows}), at::empty({rows})};
    log_prob_rows(logits, labels, 1, with_entropy, found);
    check_unbiased("log-probs", found.log_probs, log_probs);
    check_unbiased("logsumexp", found.logsumexp, logsumexp);
    if (with_entropy) check_unbiased("entropy", found.entropy, entropy);
  }
}

TEST_CASE("without entropy only the log-prob is differentiated", "[ops]") {
  const Inputs x = make_inputs(20, 7, 31, at::kDouble);
  const LogProbs ours = linear_log_prob(x.hidden, x.weight, x.labels, {});
  CHECK_FALSE(ours.entropy.defined());
  LogProbs reference = plain(x, 1.0);
  reference.entropy = at::Tensor();
  check_same(results(ours, x, 0), results(reference, x, 0), 1e-10);
}

TEST_CASE("rows without a label are never read: 0, and no gradient even for NaN", "[ops]") {
  const Inputs x = make_inputs(9, 4, 11, at::kFloat);
  {
    const at::NoGradGuard no_grad;
    x.hidden[3].fill_(std::nan(""));
  }
  REQUIRE(x.labels[3].item<int64_t>() == -1);
  const LogProbs y = linear_log_prob(x.hidden, x.weight, x.labels, {.with_entropy = true});
  CHECK(y.log_probs[3].item<float>() == 0);
  CHECK(y.entropy[3].item<float>() == 0);
  (y.log_probs + y.entropy).sum().backward();
  CHECK(at::isfinite(x.weight.grad()).all().item<bool>());
  CHECK(at::equal(x.hidden.grad()[3], at::zeros({4})));
}

TEST_CASE("no labels at all give zeros and zero gradients", "[ops]") {
  const Inputs x = make_inputs(5, 4, 11, at::kFloat);
  const LogProbs y = linear_log_prob(x.hidden, x.weight, at::full({5}, -1, at::kLong), {});
  y.log_probs.sum().backward();
  CHECK(at::equal(y.log_probs, at::zeros({5})));
  CHECK(at::equal(x.weight.grad(), at::zeros({11, 4})));
}

TEST_CASE("a frozen head gets no gradient", "[ops]") {
  const Inputs x = make_inputs(6, 4, 11, at::kFloat);
  x.weight.requires_grad_(false);
  linear_log_prob(x.hidden, x.weight, x.labels, {}).log_probs.sum().backward();
  CHECK(x.hidden.grad().defined());
  CHECK_FALSE(x.weight.grad().defined());
}

TEST_CASE("on a device the head's gradient is added to the float32 one that is there", "[ops]") {
  at::manual_seed(1);
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const at::Tensor hidden = at::randn({5, 16}).to(dtype), weight = (at::randn({40, 16}) * 0.3).to(dtype);
  const at::Tensor labels = at::tensor({2, -1, 0, 39, 2}, at::kLong), slopes = at::randn({5});
  const LogProbOptions options{.temperature = 0.7, .chunk_bytes = GENERATE(2 * 40 * 4, 1 << 20)};
  std::vector<at::Tensor> found;
  for (const at::Device device : {test::fake_device(), at::Device(at::kCPU)}) {
    const auto own = device.is_cpu() ? at::kFloat : dtype;
    const at::Tensor h = hidden.to(own).to(device), w = weight.detach().to(own).to(device).requires_grad_();
    w.mutable_grad() = at::ones(w.sizes(), w.options().dtype(at::kFloat).requires_grad(false));
    linear_log_prob(h, w, labels.to(device), options).log_probs.backward(slopes.to(device));
    found.push_back(w.grad().cpu());
  }
  CHECK(found[0].scalar_type() == at::kFloat);
  CHECK(at::allclose(found[0], found[1], 2e-2, 2e-2));
}

}  // namespace roll
