// Muon against PyTorch's in float64, and over ranks against one rank.
#include "optim/muon.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "checkpoint/temporary_folder.h"
#include "cuda/adamw_step.h"
#include "dist/local_ranks.h"
#include "job/join.h"
#include "model/small_spec.h"
#include "optim/learner.h"

namespace roll {

using test::run_local_ranks;

namespace {

at::Tensor sixty_fourths(const std::vector<int64_t>& shape, int64_t seed) {
  const at::Tensor numbers = at::arange(c10::multiply_integers(shape), at::kDouble);
  const at::Tensor values = at::sin(numbers.square() * 0.37 + static_cast<double>(seed));
  return (values * 64).round().div(64).to(at::kFloat).view(shape).clone();
}

at::Tensor golden_tensor(const Json& values, const ParameterShape& parameter) {
  return at::tensor(values[parameter.name].get<std::vector<double>>(), at::kDouble)
      .to(at::kFloat)
      .view(parameter.shape);
}

struct MuonVariant {
  int64_t tp = 1;
  bool shares = true;
  at::ScalarType dtype = at::kFloat;
};

LearnerOptions muon_options(const MuonVariant& variant) {
  return {.adamw = {.weight_decay = 0.1},
          .muon = MuonConfig(),
          .schedule = {.type = LrScheduleType::kConstant, .peak_lr = 1e-2},
          .max_grad_norm = 0,
          .shares_optimizer = variant.shares};
}

/// A rank's part of a model, whose gradients are given.
struct GivenModel {
  GivenModel(Communicator& world, const MuonVariant& variant)
      : mesh(world, {.tp = variant.tp}),
        parts(test::small_spec(), shapes, &mesh.tp()),
        parameters(make_parameters(variant.dtype)),
        learner("given", parameters, muon_options(variant), {mesh, parts}) {}

  NamedTensors make_parameters(at::ScalarType dtype) const {
    NamedTensors made;
    for (size_t k = 0; k < shapes.size(); ++k) {
      const at::Tensor start = sixty_fourths(shapes[k].shape, static_cast<int64_t>(k));
      made.emplace_back(shapes[k].name, parts.cut(shapes[k].name, start).to(dtype).clone().requires_grad_());
    }
    return made;
  }

  /// One data rank has the whole gradient, so that sums are exact; ranks with copies have a share of it.
  void update(int64_t step) {
    const double share = step % mesh.dp_size() == mesh.dp().rank() ? 1 : 0;
    learner.update(1, [&](int64_t) {
      at::Tensor loss = at::zeros({});
      for (size_t k = 0; k < shapes.size(); ++k) {
        const auto& [name, parameter] = parameters[k];
        const at::Tensor gradient = sixty_fourths(shapes[k].shape, 100 * step + static_cast<int64_t>(k));
        const auto copies = static_cast<double>(parts.part(name).copies);
        loss = loss + (parameter.to(at::kFloat) * parts.cut(name, gradient)).sum() * (share / copies);
      }
      return loss;
    });
  }

  /// Returns all bits of the whole weights.
  std::string bits() const {
    std::string text;
    for (const auto& [name, local] : parameters) {
      const at::Tensor whole = parts.gather(name, local).contiguous();
      text.append(static_cast<const char*>(whole.data_ptr()), whole.nbytes());
    }
    return text;
  }

  std::vector<ParameterShape> shapes = policy_parameters(test::small_spec());
  Mesh mesh;
  ParameterShards parts;
  NamedTensors parameters;
  Learner learner;
};

std::string bits_after(Communicator& world, const MuonVariant& variant) {
  GivenModel model(world, variant);
  for (int64_t step = 0; step < 3; ++step) model.update(step);
  return model.bits();
}

}  // namespace

TEST_CASE("one and ten updates of Muon beside AdamW equal PyTorch's, with clipping and decay", "[optim]") {
  const auto [dtype, relative, absolute] = GENERATE(table<at::ScalarType, double, double>(
      {{at::kFloat, 1e-5, 2e-6}, {at::kBFloat16, 4e-3, 2e-5}, {at::kHalf, 5e-4, 1e-5}}));
  const Json g = read_json(ROLL_SOURCE_DIR "/tests/golden/train/muon.json");
  const std::vector<ParameterShape> shapes = policy_parameters(test::small_spec());
  REQUIRE(shapes.size() == g["shapes"].size());
  const auto alone = make_communicator({.kind = Transport::kSingle});
  Mesh mesh(*alone, {});
  const ParameterShards parts(test::small_spec(), shapes, nullptr);
  NamedTensors parameters;
  for (const ParameterShape& shape : shapes)
    parameters.emplace_back(shape.name, golden_tensor(g["start"], shape).to(dtype).clone().requires_grad_());
  LearnerOptions options = muon_options({});
  options.max_grad_norm = g["max_norm"];
  Learner learner("golden", parameters, options, {mesh, parts});
  for (const Json& step : g["steps"]) {
    learner.update(2, [&](int64_t half) {  // in two micro-batches
      at::Tensor loss = at::zeros({});
      for (size_t k = 0; k < shapes.size(); ++k)
        loss = loss + (parameters[k].second.to(at::kFloat) * golden_tensor(step["gradients"], shapes[k])).sum() *
                          (half == 0 ? 0.25 : 0.75);
      return loss;
    });
    for (size_t k = 0; k < shapes.size() && !step["weights"].empty(); ++k) {
      INFO(shapes[k].name << " after update " << learner.num_updates());
      CHECK(at::allclose(parameters[k].second.to(at::kFloat), golden_tensor(step["weights"], shapes[k]), relative,
                         absolute));
    }
  }
}

TEST_CASE("an update is orthogonal, as far as five steps bring it, with elements of AdamW's size", "[optim]") {
  for (const std::vector<int64_t>& shape : std::vector<std::vector<int64_t>>{{24, 40}, {40, 24}, {1, 7}}) {
    const at::Tensor direction = sixty_fourths(shape, 3) * 1e-3;
    const at::Tensor update = muon_update(direction, 5);
    REQUIRE(update.sizes() == direction.sizes());
    const at::Tensor values =
        at::linalg_svdvals(update / (0.2 * std::sqrt(static_cast<double>(std::max(shape[0], shape[1])))));
    CHECK(values.min().item<double>() > 0.6);
    CHECK(values.max().item<double>() < 1.3);
    const at::Tensor turned = muon_update(direction.t().contiguous(), 5).t();
    CHECK(at::allclose(turned, update, 1e-4, 1e-6));
    CHECK(at::allclose(muon_update(direction * 4096, 5), update, 1e-4, 1e-6));
  }
  CHECK(at::equal(muon_update(at::zeros({3, 5}), 5), at::zeros({3, 5})));
}

TEST_CASE("bfloat16 halves of masters descend as float32 masters do, bit for bit", "[optim]") {
  const at::Tensor masters = at::sin(at::arange(5000, at::kFloat)) * at::exp(at::arange(5000, at::kFloat) / 500 - 5);
  const at::Tensor update = at::cos(at::arange(5000, at::kFloat) * 0.7);
  const at::Tensor high = at::empty({5000}, at::kBFloat16), low = at::empty({5000}, at::kShort);
  auto* const highs = static_cast<Bf16*>(high.data_ptr());
  auto* const lows = low.data_ptr<int16_t>();
  for (int64_t i = 0; i < 5000; ++i) {
    const SplitFloat halves = split_float(masters.data_ptr<float>()[i]);
    highs[i] = halves.high;
    lows[i] = halves.low;
  }
  for (int step = 0; step < 3; ++step) {
    descend(masters, update, 0.999, 1e-2);
    descend_split(high, low, update, 0.999, 1e-2);
  }
  int64_t wrong = 0;
  for (int64_t i = 0; i < 5000; ++i) {
    const SplitFloat halves = split_float(masters.data_ptr<float>()[i]);
    wrong += joined_float({highs[i], lows[i]}) != masters.data_ptr<float>()[i] || highs[i].bits != halves.high.bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("ranks that share Muon's matrices end where one rank does, bit for bit", "[optim]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16, at::kHalf);
  const auto alone = make_communicator({.kind = Transport::kSingle});
  const std::string expected = bits_after(*alone, {.dtype = dtype});
  // Four tensor ranks have copies of the two key/value heads, and unequal parts of the MLP.
  for (const auto& [num_ranks, tp] : std::vector<std::pair<int, int64_t>>{{2, 1}, {3, 1}, {2, 2}, {4, 2}, {4, 4}})
    for (const bool shares : {true, false}) {
      INFO(num_ranks << " ranks, tp " << tp << (shares ? ", slices" : ", whole optimizers"));
      const MuonVariant variant{.tp = tp, .shares = shares, .dtype = dtype};
      for (const std::string& bits :
           run_local_ranks(num_ranks, [&](Communicator& world) { return bits_after(world, variant); }))
        CHECK((bits == expected ? "" : bits.starts_with("error") ? bits : "other weights") == "");
    }
}

TEST_CASE("Muon keeps no second moment, and its momentum goes on under another layout, bit for bit", "[optim]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16);
  const test::TemporaryFolder folder;
  const auto alone = make_communicator({.kind = Transport::kSingle});
  GivenModel whole(*alone, {.dtype = dtype});
  for (int64_t step = 0; step < 2; ++step) whole.update(step);
  const OptimizerShard shard = whole.learner.optimizer_shard().value();
  int64_t num_second = 0, num_first = 0;
  for (const auto& [name, tensor] : shard.tensors) {
    num_first += name.ends_with(".first_moment");
    num_second += name.ends_with(".second_moment");
    CHECK_FALSE((name.ends_with(".second_moment") && name.find("_proj.weight") != name.npos));
  }
  CHECK(num_first == num_second + 7);
  write_optimizer_shard(folder.path(), "actor_00000", shard);
  const Json state = whole.learner.state();
  const std::string middle = whole.bits();
  whole.update(2);
  for (const std::string& wrong : run_local_ranks(4, [&](Communicator& world) {
         GivenModel split(world, {.tp = 2, .dtype = dtype});
         for (int64_t step = 0; step < 2; ++step) split.update(step);
         if (split.bits() != middle) return std::string("other weights before");
         split.update(7);  // leaves other moments, which load() replaces
         GivenModel resumed(world, {.tp = 2, .dtype = dtype});
         for (int64_t step = 0; step < 2; ++step) resumed.update(step);
         resumed.learner.load(state, folder.path(), "actor");
         resumed.update(2);
         return std::string(resumed.bits() == whole.bits() ? "" : "other weights after");
       }))
    CHECK(wrong == "");
}

}  // namespace roll
