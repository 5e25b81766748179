// Kernels of decoding, run by lanes on the CPU, against plain loops in float64.
#include "cuda/attend_pages.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "cuda/warps.h"

namespace roll {

namespace {

std::vector<float> random_floats(int64_t count, uint64_t seed) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(
        random_normal({.seed = seed, .purpose = Purpose::kInit, .position = static_cast<uint32_t>(i)}));
  return values;
}

constexpr int64_t kPage = 16, kSlots = 3, kWidth = 40;  // of a table

/// Keys and values of every slot's tokens, [slot][position][head][d], in pages in a shuffled order.
template <class T>
struct Cache {
  int64_t kv_heads, dim;
  std::vector<float> keys = random_floats(kSlots * kWidth * kPage * kv_heads * dim, 1);
  std::vector<float> values = random_floats(kSlots * kWidth * kPage * kv_heads * dim, 2);
  std::vector<int32_t> tables = std::vector<int32_t>(kSlots * kWidth);
  std::vector<T> paged_keys = std::vector<T>(keys.size()), paged_values = std::vector<T>(keys.size());

  int64_t at(int64_t slot, int64_t position, int64_t head) const {
    return ((slot * kWidth * kPage + position) * kv_heads + head) * dim;
  }
  PagedLayer<T> layer() {
    return {paged_keys.data(), paged_values.data(), tables.data(), kWidth, kPage, kv_heads, dim};
  }
  void fill() {
    for (int64_t i = 0; i < kSlots * kWidth; ++i) tables[i] = static_cast<int32_t>(i * 7 % (kSlots * kWidth));
    const PagedLayer<T> pages = layer();
    for (int64_t slot = 0; slot < kSlots; ++slot)
      for (int64_t position = 0; position < kWidth * kPage; ++position)
        for (int64_t head = 0; head < kv_heads; ++head)
          for (int64_t d = 0; d < dim; ++d) {
            const int64_t from = at(slot, position, head) + d;
            T &key = pages.keys[pages.key_at(slot, position, head, d) + d % PagedLayer<T>::kVector],
              &value = pages.values[pages.value_at(slot, position, head) + d];
            store(key, keys[from]), store(value, values[from]);
            keys[from] = to_float(key), values[from] = to_float(value);  // rounded
          }
  }
};

/// Of query [D] over the tokens up to `position`.
template <class T>
std::vector<double> attended(const Cache<T>& cache, const float* q, int64_t slot, int64_t position, int64_t head) {
  std::vector<double> weights(position + 1), out(cache.dim);
  double sum = 0;
  for (int64_t j = 0; j <= position; ++j) {
    double score = 0;
    for (int64_t d = 0; d < cache.dim; ++d)
      score += static_cast<double>(q[d]) * cache.keys[cache.at(slot, j, head) + d];
    sum += weights[j] = std::exp(score / std::sqrt(static_cast<double>(cache.dim)));
  }
  for (int64_t j = 0; j <= position; ++j)
    for (int64_t d = 0; d < cache.dim; ++d) out[d] += weights[j] / sum * cache.values[cache.at(slot, j, head) + d];
  return out;
}

template <class T, int kQueries>
void check_attention(int64_t heads, int64_t kv_heads, int64_t dim, int64_t splits, double margin) {
  Cache<T> cache{.kv_heads = kv_heads, .dim = dim};
  cache.fill();
  const std::vector<StepRow> rows = {{0, 0, 2}, {0, 127, 0}, {0, 128, 1}, {0, 5, -1}, {0, 639, 0}, {0, 300, 2}};
  const auto num_rows = std::ssize(rows);
  const auto wide = random_floats(num_rows * (heads + 2 * kv_heads) * dim, 3);
  std::vector<T> qkv(wide.size()), mixed(num_rows * heads * dim);
  for (size_t i = 0; i < wide.size(); ++i) store(qkv[i], wide[i]);
  std::vector<float> parts(num_rows * heads * splits * (dim + 2), NAN);
  test::run_kernel(AttendPages<T, kQueries>{.qkv = qkv.data(),
                                            .rows = rows.data(),
                                            .layer = cache.layer(),
                                            .mixed = mixed.data(),
                                            .parts = parts.data(),
                                            .num_rows = num_rows,
                                            .heads = heads,
                                            .splits = splits,
                                            .scale = 1 / std::sqrt(static_cast<float>(dim))});
  if (splits > 1)
    test::run_kernel(CombineParts<T>{.parts = parts.data(),
                                     .rows = rows.data(),
                                     .mixed = mixed.data(),
                                     .num_rows = num_rows,
                                     .heads = heads,
                                     .splits = splits,
                                     .head_dim = dim});
  for (int64_t i = 0; i < num_rows; ++i)
    for (int64_t head = 0; head < heads && rows[i].slot >= 0; ++head) {
      std::vector<float> q(dim);
      for (int64_t d = 0; d < dim; ++d) q[d] = to_float(qkv[(i * (heads + 2 * kv_heads) + head) * dim + d]);
      const auto expected = attended(cache, q.data(), rows[i].slot, rows[i].position, head / (heads / kv_heads));
      CAPTURE(i, head, splits);
      for (int64_t d = 0; d < dim; ++d)
        REQUIRE(to_float(mixed[(i * heads + head) * dim + d]) == Approx(expected[d]).margin(margin));
    }
}

}  // namespace

TEST_CASE("paged attention is that of a plain loop, whatever the heads, the splits and the dtype", "[ops]") {
  const int64_t splits = GENERATE(1, 2, 3, 7);
  check_attention<float, 1>(2, 2, 128, splits, 2e-5);
  check_attention<float, 2>(4, 2, 64, splits, 2e-5);
  check_attention<float, 4>(3, 1, 40, splits, 2e-5);
  check_attention<float, 8>(14, 2, 64, splits, 2e-5);
  check_attention<float, 8>(12, 1, 24, splits, 2e-5);
  check_attention<float, 2>(2, 1, 256, splits, 2e-5);
  check_attention<Bf16, 8>(14, 2, 128, splits, 1e-2);
}

TEST_CASE("bfloat16 rounds to the nearest, of two the even one", "[ops]") {
  const auto rounded = [](float x) {
    Bf16 half;
    store(half, x);
    return to_float(half);
  };
  CHECK(rounded(1.0f) == 1.0f);
  CHECK(rounded(1.00390625f) == 1.0f);       // half way, 1 is even
  CHECK(rounded(1.01171875f) == 1.015625f);  // half way, the upper one is even
  CHECK(rounded(1.0039065f) == 1.0078125f);  // just above
  CHECK(rounded(-3.4e38f) == -INFINITY);
  CHECK(rounded(INFINITY) == INFINITY);
  CHECK(std::isnan(rounded(NAN)));
  CHECK(std::isnan(rounded(float_of(0x7FFFFFFF))));  // a GPU's own
}

}  // namespace roll
