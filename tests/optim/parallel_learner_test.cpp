// A model that several ranks train together: slices of the optimizer or all of it, copies, the order of reductions.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/variable.h>

#include <catch2/catch.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "dist/local_ranks.h"
#include "job/join.h"
#include "model/small_spec.h"
#include "optim/allocated.h"
#include "optim/learner.h"

namespace roll {

using test::run_local_ranks;

namespace {

/// Six matrices of a bucket each, and vectors; whole numbers, so that sums over ranks are exact.
NamedTensors chain_parameters(at::ScalarType dtype) {
  NamedTensors parameters;
  for (int64_t i = 0; i < 6; ++i) {
    const at::Tensor values = at::arange(257 * 257, at::kFloat).remainder(7 + i).sub(3).div(64);
    parameters.emplace_back(fmt::format("layers.{}.w", i), values.view({257, 257}).to(dtype).clone().requires_grad_());
    parameters.emplace_back(fmt::format("layers.{}.b", i), at::zeros({257}, dtype).requires_grad_());
  }
  return parameters;
}

/// x W0 + b0 ... W5 + b5; backward is through with the last layer first.
at::Tensor chain(const NamedTensors& parameters, at::Tensor x) {
  for (size_t i = 0; i < parameters.size(); i += 2)
    x = at::addmm(parameters[i + 1].second, x, parameters[i].second).tanh();
  return x;
}

struct Variant {
  bool shares = true;
  at::ScalarType dtype = at::kFloat;
  std::vector<std::string> frozen = {};
};

LearnerOptions options_of(const Variant& variant) {
  return {.adamw = {.weight_decay = 0.1},
          .schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-2},
          .max_grad_norm = 0,
          .frozen_prefixes = variant.frozen,
          .shares_optimizer = variant.shares};
}

/// All bits of the weights after two updates with 0, 1, 2, ... micro-batches by rank, the last of which counts nothing
/// on the last rank.
std::string weights_after(Communicator& ranks, const Variant& variant) {
  const NamedTensors parameters = chain_parameters(variant.dtype);
  Learner learner("test", parameters, options_of(variant), ranks);
  for (int64_t step = 0; step < 2; ++step)
    learner.update(ranks.rank() + step, [&](int64_t k) {
      const bool fills = ranks.rank() + 1 == ranks.size() && k == ranks.rank() + step - 1 && k > 0;
      if (fills) return at::Tensor();
      return chain(parameters, at::full({2, 257}, 0.25 * static_cast<double>(k + 1), variant.dtype)).sum();
    });
  std::string bits;
  for (const auto& [name, p] : parameters) bits.append(static_cast<const char*>(p.data_ptr()), p.nbytes());
  return bits;
}

at::Tensor whole_numbers(size_t k, const std::vector<int64_t>& shape, int64_t purpose) {
  const int64_t numel = c10::multiply_integers(shape), period = 5 + static_cast<int64_t>(k) + purpose;
  return at::arange(numel, at::kFloat).remainder(period).sub(2).view(shape);
}

/// One update whose gradient is known: a copy's gradient is partial on each of the ranks that hold it, and each data
/// rank has its share. Gives norm, and what differs from the whole gradient and from a whole model's new weights.
std::string cut_update(Communicator& world, int64_t tp, bool shares, at::ScalarType dtype) {
  Mesh mesh(world, {.tp = tp});
  const std::vector<ParameterShape> shapes = backbone_parameters(test::small_spec());
  const ParameterShards parts(test::small_spec(), shapes, &mesh.tp());
  const LearnerOptions options = options_of({.shares = shares});
  NamedTensors local, whole;
  for (size_t k = 0; k < shapes.size(); ++k) {
    const at::Tensor start = whole_numbers(k, shapes[k].shape, 0).to(dtype);
    local.emplace_back(shapes[k].name, parts.cut(shapes[k].name, start).clone().requires_grad_());
    whole.emplace_back(shapes[k].name, start.clone().requires_grad_());
  }
  const auto loss = [&](const NamedTensors& parameters, const auto& share) {
    at::Tensor sum = at::zeros({}, dtype);
    for (size_t k = 0; k < shapes.size(); ++k)
      sum = sum + (parameters[k].second * share(shapes[k].name, whole_numbers(k, shapes[k].shape, 1).to(dtype))).sum();
    return sum;
  };
  Learner learner("cut", local, options, {mesh, parts});
  learner.keep_gradients(true);
  const double norm = learner
                          .update(1,
                                  [&](int64_t) {
                                    return loss(local, [&](const std::string& name, const at::Tensor& g) {
                                      const double ranks =
                                          static_cast<double>(parts.part(name).copies * mesh.dp_size());
                                      return parts.cut(name, g) / ranks;
                                    });
                                  })
                          .grad_norm;
  const auto alone = make_communicator({.kind = Transport::kSingle});
  Learner reference("whole", whole, options, *alone);
  const double expected =
      reference
          .update(1, [&](int64_t) { return loss(whole, [](const std::string&, const at::Tensor& g) { return g; }); })
          .grad_norm;
  std::string wrong = norm == Approx(expected).epsilon(1e-12) ? "" : fmt::format("norm {} not {} ", norm, expected);
  for (size_t k = 0; k < shapes.size(); ++k) {
    const auto& [name, gradient] = learner.kept_gradient()[k];
    if (!at::equal(gradient, whole_numbers(k, shapes[k].shape, 1))) wrong += "gradient of " + name + " ";
    if (!at::allclose(parts.gather(name, local[k].second), whole[k].second, 1e-6, 1e-7)) wrong += name + " ";
  }
  return wrong;
}

}  // namespace

TEST_CASE("slices of an optimizer end where whole ones do, bit for bit, on every rank", "[train]") {
  const int num_ranks = GENERATE(2, 3);
  const Variant variant =
      GENERATE(Variant{}, Variant{.dtype = at::kBFloat16}, Variant{.frozen = {"layers.2.", "layers.5.b"}});
  Variant unshared = variant;
  unshared.shares = false;
  const auto sliced = run_local_ranks(num_ranks, [&](Communicator& ranks) { return weights_after(ranks, variant); });
  const auto whole = run_local_ranks(num_ranks, [&](Communicator& ranks) { return weights_after(ranks, unshared); });
  REQUIRE(whole[0].size() > 100000);
  for (const auto& bits : sliced) CHECK(bits == sliced[0]);
  for (const auto& bits : whole) CHECK(bits == whole[0]);
  CHECK(sliced[0] == whole[0]);
}

TEST_CASE("copies on tensor ranks add up to the whole gradient and count once in its norm", "[train]") {
  const bool shares = GENERATE(true, false);
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const auto [num_ranks, tp] = GENERATE(table<int, int64_t>({{2, 2}, {4, 4}, {4, 2}}));
  for (const auto& wrong :
       run_local_ranks(num_ranks, [&, tp = tp](Communicator& world) { return cut_update(world, tp, shares, dtype); }))
    CHECK(wrong == "");
}

TEST_CASE("the summed gradient is that of one process with all micro-batches", "[train]") {
  const bool shares = GENERATE(true, false);
  const auto gradient_of = [&](Communicator& ranks, int64_t first, int64_t count) {
    const NamedTensors parameters = chain_parameters(at::kFloat);
    Learner learner("test", parameters, options_of({.shares = shares}), ranks);
    learner.keep_gradients(true);
    learner.update(count, [&](int64_t k) {
      return chain(parameters, at::full({2, 257}, 0.25 * static_cast<double>(first + k + 1))).sum();
    });
    return learner.kept_gradient();
  };
  const NamedTensors expected = gradient_of(*make_communicator({.kind = Transport::kSingle}), 0, 4);
  for (const auto& wrong : run_local_ranks(2, [&](Communicator& ranks) {
         const NamedTensors found = ranks.is_first() ? gradient_of(ranks, 0, 3) : gradient_of(ranks, 3, 1);
         std::string differ;
         for (size_t i = 0; i < found.size(); ++i) {
           const double scale = expected[i].second.abs().max().item<double>();
           if (!at::allclose(found[i].second, expected[i].second, 1e-4, 1e-5 * scale)) differ += found[i].first + " ";
         }
         return differ;
       }))
    CHECK(wrong == "");
}

TEST_CASE("buckets leave while backward runs, the last layers' first", "[train]") {
  const bool shares = GENERATE(true, false);
  const std::string collective = shares ? "start/world/reduce_scatter" : "start/world/all_reduce";
  const auto said = run_local_ranks(2, [&](Communicator& ranks) {
    const NamedTensors parameters = chain_parameters(at::kFloat);
    Learner learner("test", parameters, options_of({.shares = shares}), ranks);
    bool left = false;
    learner.update(2, [&](int64_t k) {
      const at::Tensor x = at::ones({2, 257}).requires_grad_();
      // The input's gradient comes last of all: here backward waits until a bucket has been sent.
      if (k == 1)
        x.register_hook([&](const at::Tensor& gradient) {
          for (const double limit_s = monotonic_s() + 10; !left && monotonic_s() < limit_s;)
            left = ranks.traffic().take()[collective].bytes > 0;
          return gradient;
        });
      return chain(parameters, x).sum();
    });
    const UpdateTrace& trace = learner.trace();
    std::string order;
    for (const BucketTrace& bucket : trace.buckets) order += fmt::format("{} ", bucket.bucket);
    const bool in_time = trace.buckets.front().begin_s < trace.last_end_s &&
                         trace.last_begin_s <= trace.buckets.front().ready_s &&
                         trace.buckets.back().end_s <= trace.reduced_s;
    return fmt::format("{}left {} in time {}", order, left, in_time);
  });
  for (const auto& text : said) CHECK(text == "5 4 3 2 1 0 6 left true in time true");
}

TEST_CASE("only the last micro-batch's gradients leave, in every update anew", "[train]") {
  const auto said = run_local_ranks(2, [](Communicator& ranks) {
    const NamedTensors parameters = chain_parameters(at::kFloat);
    Learner learner("test", parameters, options_of({}), ranks);
    std::string text;
    for (int update = 0; update < 2; ++update) {
      int64_t kinds = 0, bytes = 0;
      ranks.traffic().take();
      learner.update(3, [&](int64_t k) {
        if (k == 2) kinds = std::ssize(ranks.traffic().take());
        return chain(parameters, at::ones({2, 257})).sum();
      });
      for (const BucketTrace& bucket : learner.trace().buckets) bytes += bucket.bytes;
      text += fmt::format("{} before, {} buckets of {} bytes; ", kinds, learner.trace().buckets.size(), bytes);
    }
    return text;
  });
  // 6 matrices of 66049, each made even, and 1542 of vectors.
  const int64_t bytes = 4 * (6 * 66050 + 1542);
  const std::string each = fmt::format("0 before, 7 buckets of {} bytes; ", bytes);
  for (const auto& text : said) CHECK(text == each + each);
}

TEST_CASE("a bfloat16 gradient is gone as soon as it is added to the float32 one", "[train]") {
  const auto alone = make_communicator({.kind = Transport::kSingle});
  test::Allocated allocated;
  const NamedTensors parameters = chain_parameters(at::kBFloat16);
  Learner learner("test", parameters, options_of({}), *alone);
  const int64_t before = allocated.live(), matrix = 2 * 257 * 257;
  CHECK(before == (2 + 4 + 10) * (6 * 66056 + 1544));  // buckets of 66049 and 1542, padded to eights
  int64_t peak = 0;
  learner.update(2, [&](int64_t) {
    peak = allocated.take_peak();  // at the second: of the first
    return chain(parameters, at::ones({2, 257}, at::kBFloat16)).sum();
  });
  CHECK(peak < before + 5 * matrix);  // what a product needs, and fewer gradients than there are matrices
  CHECK(allocated.live() == before);
}

TEST_CASE("a reducer must know the last backward, and leaves no hook behind", "[train]") {
  const auto alone = make_communicator({.kind = Transport::kSingle});
  const NamedTensors parameters = {{"w", at::ones({2, 2}).requires_grad_()}};
  FlatOptimizer optimizer(parameters, {});
  {
    GradientReducer reducer(optimizer, parameters, *alone, true);
    CHECK(torch::autograd::impl::post_acc_grad_hooks(parameters[0].second) != nullptr);
    CHECK_THROWS_AS(reducer.finish([](const Bucket&, int64_t) {}), Bug);
  }
  CHECK(torch::autograd::impl::post_acc_grad_hooks(parameters[0].second) == nullptr);
}

}  // namespace roll
