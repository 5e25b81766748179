// Weights with a scale for each block: their numbers are transformers' (tests/oracles/make_golden_block_floats.py), and
// folders show them as bfloat16 weights.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/file.h"
#include "checkpoint/block_floats.h"
#include "checkpoint/hf_folder.h"
#include "checkpoint/temporary_folder.h"
#include "model/golden.h"

namespace roll {

using Catch::Contains;
using test::message_of;
using test::TemporaryFolder;

namespace {

at::Tensor codes_of_mxfp4() {
  return at::arange(2 * 3 * 2 * 16).mul(37).add(11).remainder(256).to(at::kByte).view({2, 3, 2, 16});
}

at::Tensor scales_of_mxfp4() {
  return at::arange(2 * 3 * 2).remainder(9).add(120).to(at::kByte).view({2, 3, 2});
}

at::Tensor codes_of_fp8() {
  return at::arange(130 * 200).mul(7).remainder(126).to(at::kByte).view({130, 200}).view(at::kFloat8_e4m3fn);
}

const at::Tensor kFp8Scales = at::tensor({0.25F, 1.5F, 3.0F, 0.7F}).view({2, 2});

at::Tensor tensor_from(const Json& rows) {
  std::vector<double> numbers;
  for (const Json& row : rows)
    for (const Json& number : row) numbers.push_back(number.get<double>());
  return at::tensor(numbers, at::kDouble).view({static_cast<int64_t>(rows.size()), -1});
}

void write_folder(const std::filesystem::path& folder, const Json& section, const NamedTensors& tensors) {
  std::filesystem::create_directories(folder);
  write_file_atomic(folder / "config.json", Json{{"quantization_config", section}}.dump());
  write_safetensors(folder / "model.safetensors", tensors);
}

}  // namespace

TEST_CASE("MXFP4 and FP8 blocks have transformers' numbers", "[checkpoint]") {
  const Json golden = test::read_golden("block_floats");
  const at::Tensor mxfp4 = read_blocks(BlockFloats::kMxfp4, codes_of_mxfp4(), scales_of_mxfp4());
  REQUIRE(mxfp4.sizes() == at::IntArrayRef({2, 64, 3}));
  for (int64_t e = 0; e < 2; ++e) CHECK(at::equal(mxfp4[e].to(at::kDouble), tensor_from(golden["mxfp4"][e])));
  const at::Tensor fp8 = read_blocks(BlockFloats::kFp8, codes_of_fp8(), kFp8Scales);
  CHECK(at::equal(fp8.slice(0, 0, 130, 43).to(at::kDouble), tensor_from(golden["fp8"]["rows"])));
  CHECK(fp8.to(at::kDouble).sum().item<double>() == golden["fp8"]["sum"].get<double>());
}

TEST_CASE("a folder shows weights instead of their codes and scales", "[checkpoint]") {
  const TemporaryFolder folder;
  const at::Tensor plain = at::arange(3).to(at::kFloat);
  write_folder(folder / "m", {{"quant_method", "mxfp4"}},
               {{"a.experts_blocks", codes_of_mxfp4()}, {"a.experts_scales", scales_of_mxfp4()}, {"b", plain}});
  const HfFolder opened = HfFolder::open(folder / "m");
  REQUIRE(opened.entries().size() == 2);
  CHECK(opened.find("a.experts")->shape == std::vector<int64_t>{2, 64, 3});
  CHECK_FALSE(opened.find("a.experts_scales"));
  CHECK(opened.tensor_file("a.experts").ends_with("model.safetensors"));
  for (int i = 0; i < 2; ++i) {
    CHECK(opened.read("a.experts")[1][2][0].item<float>() == test::read_golden("block_floats")["mxfp4"][1][2][0]);
    CHECK(at::equal(opened.read("b"), plain));
  }
  write_folder(folder / "f", {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}},
               {{"q.weight", codes_of_fp8()}, {"q.weight_scale_inv", kFp8Scales}, {"k.weight", plain}});
  const HfFolder small = HfFolder::open(folder / "f");
  CHECK(small.entries().size() == 2);
  CHECK(small.read("q.weight").scalar_type() == at::kBFloat16);
  CHECK(at::equal(small.read("k.weight"), plain));
}

TEST_CASE("codes without scales, and scales of another size, are refused by name", "[checkpoint]") {
  const TemporaryFolder folder;
  const auto refusal = [&](const Json& section, const NamedTensors& tensors) {
    write_folder(folder / "m", section, tensors);
    return message_of([&] { HfFolder::open(folder / "m"); });
  };
  const Json mxfp4 = {{"quant_method", "mxfp4"}}, fp8 = {{"quant_method", "fp8"}, {"weight_block_size", {128, 128}}};
  CHECK_THAT(refusal(mxfp4, {{"a_blocks", codes_of_mxfp4()}}), Contains("a_blocks: the folder has no a_scales"));
  CHECK_THAT(refusal(mxfp4, {{"a_blocks", codes_of_mxfp4()}, {"a_scales", scales_of_mxfp4()[0]}}),
             Contains("a_blocks: U8 [2, 3, 2, 16] and its scales U8 [3, 2] do not fit"));
  CHECK_THAT(refusal(fp8, {{"q.weight", codes_of_fp8()}}), Contains("the folder has no q.weight_scale_inv"));
  CHECK_THAT(refusal(fp8, {{"q.weight", codes_of_fp8()}, {"q.weight_scale_inv", kFp8Scales[0]}}),
             Contains("do not fit"));
  CHECK_THAT(refusal({{"quant_method", "fp8"}}, {{"q.weight", codes_of_fp8()}}),
             Contains("weight_block_size = null: only [128, 128] is read"));
}

}  // namespace roll
