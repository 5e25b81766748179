#include "model/parameter_shards.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/local_ranks.h"
#include "dist/mesh.h"
#include "dist/single.h"
#include "model/init_spec.h"
#include "model/small_spec.h"
#include "model/weights.h"
#include "pipeline/stage.h"

namespace roll {

using test::run_local_ranks;

namespace {

/// With every bias that a layer may have.
ModelSpec biased_spec() {
  ModelSpec spec = test::small_spec();
  spec.o_bias = true;
  spec.mlp_bias = true;
  return spec;
}

std::vector<ParameterShape> all_parameters() {
  std::vector<ParameterShape> list = backbone_parameters(biased_spec());
  list.push_back(lm_head_parameter(biased_spec()));
  list.push_back(value_head_parameters(biased_spec()).front());
  return list;
}

/// Another number everywhere, in every parameter.
NamedTensors numbers(at::ScalarType dtype) {
  NamedTensors whole;
  int64_t next = 1;
  for (const ParameterShape& parameter : all_parameters()) {
    const auto& [name, shape] = std::tie(parameter.name, parameter.shape);
    const int64_t numel = c10::multiply_integers(shape);
    whole.emplace_back(name, at::arange(next, next + numel, at::kDouble).div(64).to(dtype).view(shape));
    next += numel;
  }
  return whole;
}

NamedTensors cut_all(const ParameterShards& parts, const NamedTensors& whole) {
  NamedTensors local;
  for (const auto& [name, tensor] : whole) local.emplace_back(name, parts.cut(name, tensor).clone());
  return local;
}

std::string text_of(const TensorShard& part) {
  if (part.dim < 0) return fmt::format("whole x{}", part.copies);
  return fmt::format("{}: {}-{} x{}", part.dim, part.begin, part.end, part.copies);
}

/// The parts of all parameters on ranks 0, 1, ...
std::map<std::string, std::vector<std::string>> parts_over(int num_ranks) {
  std::map<std::string, std::vector<std::string>> parts;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const auto tp = make_single_communicator({.rank = rank, .size = num_ranks});  // no message is needed
    const ParameterShards own(biased_spec(), all_parameters(), tp.get());
    for (const ParameterShape& parameter : all_parameters())
      parts[parameter.name].push_back(text_of(own.part(parameter.name)));
  }
  return parts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("each kind of parameter is cut over four ranks in its own way", "[model]") {
  const std::string layer = "model.layers.0.";
  const Texts vocabulary = {"0: 0-3 x1", "0: 3-6 x1", "0: 6-8 x1", "0: 8-10 x1"};
  const Texts heads = {"0: 0-2 x1", "0: 2-4 x1", "0: 4-6 x1", "0: 6-8 x1"};
  const Texts kv_heads = {"0: 0-2 x2", "0: 0-2 x2", "0: 2-4 x2", "0: 2-4 x2"};
  const Texts inner = {"0: 0-2 x1", "0: 2-4 x1", "0: 4-5 x1", "0: 5-6 x1"};
  const Texts whole(4, "whole x4");
  const auto parts = parts_over(4);
  CHECK(parts.at("model.embed_tokens.weight") == vocabulary);
  CHECK(parts.at("lm_head.weight") == vocabulary);
  for (const char* end : {"weight", "bias"}) {
    CHECK(parts.at(layer + "self_attn.q_proj." + end) == heads);
    CHECK(parts.at(layer + "self_attn.k_proj." + end) == kv_heads);
    CHECK(parts.at(layer + "self_attn.v_proj." + end) == kv_heads);
    CHECK(parts.at(layer + "mlp.gate_proj." + end) == inner);
    CHECK(parts.at(layer + "mlp.up_proj." + end) == inner);
  }
  CHECK(parts.at(layer + "self_attn.o_proj.weight") == Texts{"1: 0-2 x1", "1: 2-4 x1", "1: 4-6 x1", "1: 6-8 x1"});
  CHECK(parts.at(layer + "mlp.down_proj.weight") == Texts{"1: 0-2 x1", "1: 2-4 x1", "1: 4-5 x1", "1: 5-6 x1"});
  for (const char* name : {"self_attn.o_proj.bias", "mlp.down_proj.bias", "self_attn.q_norm.weight",
                           "self_attn.k_norm.weight", "input_layernorm.weight", "post_attention_layernorm.weight"})
    CHECK(parts.at(layer + name) == whole);
  CHECK(parts.at("model.norm.weight") == whole);
  CHECK(parts.at("score.weight") == whole);
}

TEST_CASE("as many ranks as key/value heads hold one each", "[model]") {
  const auto parts = parts_over(2);
  CHECK(parts.at("model.layers.0.self_attn.k_proj.weight") == Texts{"0: 0-2 x1", "0: 2-4 x1"});
  CHECK(parts.at("model.layers.0.self_attn.q_proj.weight") == Texts{"0: 0-4 x1", "0: 4-8 x1"});
}

TEST_CASE("a process alone holds every parameter whole", "[model]") {
  const ParameterShards parts(biased_spec(), all_parameters(), nullptr);
  CHECK(parts.is_whole());
  for (const auto& [name, tensor] : numbers(at::kFloat)) {
    CHECK(at::equal(parts.cut(name, tensor), tensor));
    const at::Tensor gathered = parts.gather(name, tensor.clone().requires_grad_());
    CHECK(at::equal(gathered, tensor));
    CHECK_FALSE(gathered.requires_grad());
    CHECK(parts.part(name).copies == 1);
  }
  CHECK_THROWS_WITH(parts.part("model.nrom.weight"), Catch::Contains("model.nrom.weight is a parameter of the model"));
}

TEST_CASE("what was cut comes back whole, on every rank or on the one that keeps it", "[model]") {
  const int num_ranks = GENERATE(2, 4);
  const auto said = run_local_ranks(num_ranks, [](Communicator& tp) {
    const ParameterShards parts(biased_spec(), all_parameters(), &tp);
    const NamedTensors whole = numbers(at::kBFloat16), local = cut_all(parts, whole);
    std::string wrong;
    for (size_t i = 0; i < whole.size(); ++i)
      if (!at::equal(parts.gather(whole[i].first, local[i].second), whole[i].second)) wrong += whole[i].first + " ";
    const NamedTensors kept = parts.gather_all(local, tp.rank() == 1);
    if (tp.rank() != 1) return wrong + fmt::format("{} kept", kept.size());
    for (size_t i = 0; i < whole.size(); ++i)
      if (kept[i].first != whole[i].first || !at::equal(kept[i].second, whole[i].second)) wrong += "kept ";
    return wrong + "all kept";
  });
  for (int rank = 0; rank < num_ranks; ++rank)
    CHECK(said[static_cast<size_t>(rank)] == (rank == 1 ? "all kept" : "0 kept"));
}

TEST_CASE("stages gather over their own ranks what they speak for, and no more", "[model][pipeline]") {
  InitSizes sizes;
  sizes.arch = "qwen3_moe", sizes.vocab = 70, sizes.hidden = 32, sizes.layers = 2, sizes.experts = 4;
  const ModelSpec spec = make_spec(sizes, {});  // whose embedding both ends have
  const std::vector<ParameterShape> all = policy_parameters(spec);
  const auto said = run_local_ranks(8, [&](Communicator& world) {
    Mesh mesh(world, {.tp = 2, .ep = 2, .pp = 2});
    const ModelParallel parallel{
        .tp = &mesh.tp(), .ep = mesh.experts(), .stage = std::make_shared<PipelineStage>(StageSplit({1, 1}), mesh)};
    const ParameterShards parts(spec, all, parallel.tp, parallel.ep, parallel.stage);
    NamedTensors local;
    const auto parameter_number = [&](const std::string& name) {
      const bool is_copy = name == all.front().name && !parallel.stage->is_first();
      return is_copy ? -1.0 : static_cast<double>(parts.parameter_number(name));
    };
    for (const ParameterShape& own : held_by(all, parallel))
      local.emplace_back(own.name, parts.cut(own.name, at::full(own.shape, parameter_number(own.name))).clone());
    world.traffic().take();
    const NamedTensors whole = parts.gather_all(local, true);
    const auto counts = world.traffic().take();
    std::string wrong;
    for (const auto& [name, tensor] : whole) {
      const bool is_own = std::ranges::find(local, name, &NamedTensors::value_type::first) != local.end();
      if (parts.is_elsewhere(name) == is_own) wrong += "elsewhere " + name + " ";
    }
    if (parts.is_elsewhere("model.nrom.weight")) wrong += "nrom ";
    for (const auto& [name, tensor] : whole)
      if (!tensor.eq(parts.parameter_number(name)).all().item<bool>()) wrong += name + " ";
    for (const auto& [name, tensor] : local)
      if (!tensor.eq(parameter_number(name)).all().item<bool>()) wrong += "own " + name + " ";
    int64_t tp_calls = parallel.stage->is_first() ? -1 : 0, ep_calls = 0;  // beside that of the embedding
    for (const auto& [key, count] : counts) {
      if (key.ends_with("/tp/all_gather")) tp_calls += count.calls;
      if (key.ends_with("/ep/broadcast")) ep_calls += count.calls;
    }
    world.barrier("rank 0 holds the store until all have met");
    return fmt::format("{}{} tensors, {} and {} calls", wrong, whole.size(), tp_calls, ep_calls);
  });
  // Of a layer q, k, v, o and two experts' three matrices are cut; of each of four experts three matrices are told.
  for (const std::string& of_rank : said) CHECK(of_rank == fmt::format("{} tensors, 10 and 12 calls", all.size()));
}

TEST_CASE("gradients of copies are added up among the ranks that hold the same part", "[model]") {
  const auto said = run_local_ranks(4, [](Communicator& tp) {
    const ParameterShards parts(biased_spec(), all_parameters(), &tp);
    std::string text;
    for (const char* name :
         {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.bias", "self_attn.k_norm.weight"}) {
      const std::string full = std::string("model.layers.0.") + name;
      const TensorShard& part = parts.part(full);
      at::Tensor gradient = at::full({part.dim < 0 ? 2 : part.end - part.begin}, std::pow(10.0, tp.rank()));
      if (full.ends_with("proj.weight")) gradient = gradient.unsqueeze(1).expand({-1, 8}).contiguous();
      parts.sum_copies(full, gradient);
      const bool even = (gradient == gradient.flatten()[0]).all().item<bool>();
      text += fmt::format("{}{} ", gradient.flatten()[0].item<float>(), even ? "" : "?");
    }
    return text;
  });
  CHECK(said == Texts{"1 11 11 1111 ", "10 11 11 1111 ", "100 1100 1100 1111 ", "1000 1100 1100 1111 "});
}

TEST_CASE("the checksum of weights does not depend on how they are cut, and sees one bit", "[model]") {
  const auto dtype = GENERATE(at::kFloat, at::kBFloat16, at::kDouble);
  const auto sums = [&](int num_ranks, const std::string& changed) {
    NamedTensors whole = numbers(dtype);
    for (auto& [name, tensor] : whole)
      if (name == changed) *static_cast<uint8_t*>(tensor.data_ptr()) ^= 1;
    const auto said = run_local_ranks(num_ranks, [&](Communicator& tp) {
      const ParameterShards parts(biased_spec(), all_parameters(), &tp);
      return std::to_string(parts.checksum(cut_all(parts, whole)));
    });
    for (const auto& text : said) CHECK(text == said[0]);
    return said[0];
  };
  const std::string one = sums(1, "");
  CHECK(sums(2, "") == one);
  CHECK(sums(4, "") == one);
  for (const char* name : {"model.embed_tokens.weight", "model.layers.0.self_attn.k_proj.weight", "model.norm.weight"})
    CHECK(sums(4, name) != one);
}

TEST_CASE("tensor ranks that cannot share a model are told why", "[model]") {
  ModelSpec spec = biased_spec();
  for (const int64_t tp : {1, 2, 4}) CHECK(tensor_parallel_rule(spec, tp).empty());
  CHECK(tensor_parallel_rule(spec, 3) == "must divide the model's 4 attention heads");
  CHECK(tensor_parallel_rule(spec, 8) == "must divide the model's 4 attention heads");
  const auto three = make_single_communicator({.rank = 0, .size = 3});
  CHECK_THROWS_AS(ParameterShards(spec, all_parameters(), three.get()), Bug);
  spec.num_heads = 12;
  spec.num_kv_heads = 4;
  CHECK(tensor_parallel_rule(spec, 6) == "must divide the model's 4 key/value heads, or be a multiple of that number");
  spec.num_kv_heads = 3;
  CHECK(tensor_parallel_rule(spec, 6).empty());  // as many as the narrowest matrix has rows
  CHECK(tensor_parallel_rule(spec, 12) == "must be at most 6, the size of the model's MLPs");
  spec.intermediate_size = 16;
  CHECK(tensor_parallel_rule(spec, 12) == "must be at most 10, the size of the model's vocabulary");
}

}  // namespace roll
