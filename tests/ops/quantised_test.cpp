// Against bitsandbytes; the numbers come from tests/oracles/make_golden_quantised.py.
#include "ops/quantised.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/json.h"
#include "model/golden.h"

namespace roll {

namespace {

/// The script's k-th matrix.
at::Tensor golden_matrix(int64_t k, const std::vector<int64_t>& shape) {
  const at::Tensor w = test::golden_numbers(k, shape[0] * shape[1]);
  const at::Tensor matrix = (w * w.abs().pow(0.5) * 0.05).reshape(shape).to(at::kFloat);
  matrix[1].narrow(0, 0, 8).zero_();
  return matrix;
}

bool has_bits(const at::Tensor& found, const Json& bits) {
  const auto expected = bits.get<std::vector<int64_t>>();
  return at::equal(found.contiguous().view(at::kInt).flatten().to(at::kLong), at::tensor(expected, at::kLong));
}

bool has_codes(const at::Tensor& found, const Json& codes) {
  return at::equal(found.flatten().to(at::kLong), at::tensor(codes.get<std::vector<int64_t>>(), at::kLong));
}

}  // namespace

TEST_CASE("quantised matrices are those of bitsandbytes, to the bit", "[quantised]") {
  const Json golden = read_json(std::filesystem::path(ROLL_SOURCE_DIR) / "tests/golden/lora/quantised.json");
  int64_t k = 0;
  for (const Json& expected : golden["matrices"]) {
    INFO("matrix " << k);
    const at::Tensor matrix = golden_matrix(k++, expected["shape"]);
    const QuantisedMatrix nf4 = quantised(matrix, Quantisation::kNf4);
    CHECK(has_codes(nf4.codes, expected["nf4_codes"]));
    CHECK(has_bits(nf4.scales, expected["nf4_scales"]));
    CHECK(has_bits(dequantised(nf4, at::kFloat), expected["nf4"]));
    const QuantisedMatrix int8 = quantised(matrix.to(at::kHalf), Quantisation::kInt8);
    CHECK(has_codes(int8.codes, expected["int8_codes"]));
    CHECK(has_bits(int8.scales, expected["int8_scales"]));
    CHECK(has_bits(dequantised(int8, at::kFloat), expected["int8"]));
  }
}

TEST_CASE("a quantised product is that of its weight, and so is its gradient", "[quantised]") {
  const auto kind = GENERATE(Quantisation::kInt8, Quantisation::kNf4);
  const QuantisedMatrix matrix = quantised(golden_matrix(0, {6, 128}), kind);
  const at::Tensor w = dequantised(matrix, at::kFloat), x = at::randn({7, 128}).requires_grad_();
  const at::Tensor y = quantised_linear(x, matrix), d = at::randn({7, 6});
  CHECK(at::allclose(y, at::linear(x, w)));
  (y * d).sum().backward();
  CHECK(at::allclose(x.grad(), at::mm(d, w)));
  CHECK(at::equal(quantised(at::zeros({2, 64}), kind).codes.to(at::kFloat).sum(),
                  at::scalar_tensor(kind == Quantisation::kNf4 ? 64.0F * 0x77 : 0.0F)));
  CHECK(at::equal(dequantised(quantised(at::zeros({2, 64}), kind), at::kFloat), at::zeros({2, 64})));
}

}  // namespace roll
