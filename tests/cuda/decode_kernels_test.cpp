// Kernels of decoding, run by lanes on the CPU, against plain loops in float64.
#include "cuda/attend_pages.h"

#include <c10/util/Half.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "cuda/combine_parts.h"
#include "cuda/reserved.h"
#include "cuda/rounding.h"
#include "cuda/warps.h"

namespace roll {

using test::is_near;
using test::random_floats;

namespace {

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
    return {.keys = paged_keys.data(),
            .values = paged_values.data(),
            .tables = tables.data(),
            .table_width = kWidth,
            .page_size = kPage,
            .kv_heads = static_cast<int32_t>(kv_heads),
            .head_dim = static_cast<int32_t>(dim),
            .page_factor = PagedLayer<T>::reciprocal(kPage)};
  }
  /// Only tokens that a row sees; the rest stays poisoned.
  void fill(const std::vector<StepRow>& rows) {
    test::poison(paged_keys.data(), paged_keys.size() * sizeof(T));
    test::poison(paged_values.data(), paged_values.size() * sizeof(T));
    for (int64_t i = 0; i < kSlots * kWidth; ++i) tables[i] = static_cast<int32_t>(i * 7 % (kSlots * kWidth));
    for (const StepRow& row : rows)
      for (int32_t position = 0; position <= row.position && row.slot >= 0; ++position)
        for (int32_t head = 0; head < kv_heads; ++head) place(row.slot, position, head);
  }

 private:
  void place(int32_t slot, int32_t position, int32_t head) {
    const PagedLayer<T> pages = layer();
    const TokenPlace place = pages.token_place(slot, position, head);
    for (int32_t d = 0; d < dim; ++d) {
      const int64_t from = at(slot, position, head) + d;
      T &key = pages.key_at(place, d), &value = pages.value_at(place, d);
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

template <class T, int kDim>
void check_attention(const std::vector<StepRow>& rows, int64_t heads, int64_t kv_heads, int64_t dim, int64_t splits,
                     int64_t rows_per_block) {
  Cache<T> cache{.kv_heads = kv_heads, .dim = dim};
  cache.fill(rows);
  const auto num_rows = std::ssize(rows);
  const auto wide = random_floats(num_rows * (heads + 2 * kv_heads) * dim, 3);
  std::vector<T> qkv(wide.size()), mixed(num_rows * heads * dim);
  for (size_t i = 0; i < wide.size(); ++i) store(qkv[i], wide[i]);
  const int64_t first_row = 1;  // the one before is somebody else's
  const int64_t num_parts = (num_rows - first_row) * heads * splits * (dim + 4);
  std::vector<float> parts(num_parts + heads * splits * (dim + 4), NAN);
  test::run_kernel(AttendPages<T, kDim>{.qkv = qkv.data(),
                                        .rows = rows.data(),
                                        .layer = cache.layer(),
                                        .mixed = mixed.data(),
                                        .parts = parts.data(),
                                        .first_row = first_row,
                                        .num_rows = num_rows - first_row,
                                        .heads = heads,
                                        .splits = splits,
                                        .rows_per_block = rows_per_block,
                                        .scale = 1 / std::sqrt(static_cast<float>(dim))});
  if (splits > 1)
    test::run_kernel(CombineParts<T>{.parts = parts.data(),
                                     .rows = rows.data(),
                                     .mixed = mixed.data(),
                                     .first_row = first_row,
                                     .num_rows = num_rows - first_row,
                                     .heads = heads,
                                     .splits = splits,
                                     .head_dim = dim});
  for (size_t i = num_parts; i < parts.size(); ++i) REQUIRE(std::isnan(parts[i]));
  for (int64_t i = 0; i < num_rows; ++i)
    for (int64_t head = 0; head < heads; ++head) {
      std::vector<float> q(dim);
      for (int64_t d = 0; d < dim; ++d) q[d] = to_float(qkv[(i * (heads + 2 * kv_heads) + head) * dim + d]);
      std::vector<double> expected(dim);
      if (i >= first_row && rows[i].slot >= 0)
        expected = attended(cache, q.data(), rows[i].slot, rows[i].position, head / (heads / kv_heads));
      for (int64_t d = 0; d < dim; ++d) {
        const T found = mixed[(i * heads + head) * dim + d];
        CAPTURE(i, head, d, splits, rows_per_block, dim, rows[i].position, to_float(found), expected[d]);
        REQUIRE((is_near(found, expected[d]) || (rows[i].slot < 0 && splits > 1)));
      }
    }
}

}  // namespace

TEST_CASE("attention of single tokens is that of float64, whatever the heads, the splits and the dtype", "[cuda]") {
  const int64_t splits = GENERATE(1, 2, 3, 7);
  const std::vector<StepRow> rows = {{0, 3, 1},  {0, 0, 2},   {0, 31, 1},  {0, 32, 0},
                                     {0, 5, -1}, {0, 127, 2}, {0, 128, 1}, {0, 639, 0}};
  check_attention<float, 128>(rows, 2, 2, 128, splits, 1);
  check_attention<float, 64>(rows, 4, 2, 64, splits, 1);
  check_attention<float, 64>(rows, 3, 1, 40, splits, 1);
  check_attention<float, 64>(rows, 18, 1, 8, splits, 1);
  check_attention<float, 256>(rows, 2, 1, 136, splits, 1);
  check_attention<Bf16, 128>(rows, 14, 2, 128, splits, 1);
  check_attention<Bf16, 64>(rows, 6, 1, 24, splits, 1);
  check_attention<Bf16, 256>(rows, 2, 1, 256, splits, 1);
  check_attention<Fp16, 128>(rows, 3, 1, 128, splits, 1);
  check_attention<Fp16, 64>(rows, 4, 2, 24, splits, 1);
}

TEST_CASE("attention of prompts' rows is that of float64, wherever pieces begin and end in tiles", "[cuda]") {
  std::vector<StepRow> rows = {{0, 3, 1}};
  const auto add_piece = [&](int32_t slot, int32_t begin, int32_t count) {
    for (int32_t i = 0; i < count; ++i) rows.push_back({0, begin + i, slot});
  };
  add_piece(0, 0, 40), add_piece(1, 120, 9), add_piece(1, 300, 1), add_piece(2, 0, 21), add_piece(-1, 0, 3);
  check_attention<float, 64>(rows, 4, 2, 64, 1, 16);
  check_attention<float, 128>(rows, 7, 1, 72, 1, 16);
  check_attention<Bf16, 128>(rows, 5, 1, 128, 1, 16);
  check_attention<Bf16, 64>(rows, 18, 1, 16, 1, 16);
  check_attention<Fp16, 64>(rows, 5, 1, 64, 1, 16);
}

TEST_CASE("many small weights of float16 beside a large one are not lost", "[cuda]") {
  // One token's score is 23 bits above those of 600 others, whose values are large.
  constexpr int32_t kDim = 8, kLength = 600;
  std::vector<Fp16> keys(kWidth * kPage * kDim), values(keys.size()), qkv(3 * kDim), mixed(kDim);
  std::vector<int32_t> tables(kWidth);
  for (int32_t i = 0; i < kWidth; ++i) tables[i] = i;
  const PagedLayer<Fp16> layer{.keys = keys.data(),
                               .values = values.data(),
                               .tables = tables.data(),
                               .table_width = kWidth,
                               .page_size = kPage,
                               .kv_heads = 1,
                               .head_dim = kDim,
                               .page_factor = PagedLayer<Fp16>::reciprocal(kPage)};
  for (int32_t i = 0; i < kLength; ++i)
    for (int32_t d = 0; d < kDim; ++d) {
      store(layer.key_at(layer.token_place(0, i, 0), d), i == 0 && d == 0 ? 25.5f : 0.0f);
      store(layer.value_at(layer.token_place(0, i, 0), d), i == 0 ? 0.0f : 60000.0f);
    }
  for (int32_t d = 0; d < kDim; ++d) store(qkv[d], d == 0 ? 1.0f : 0.0f);
  const StepRow row{0, kLength - 1, 0};
  test::run_kernel(AttendPages<Fp16, 64>{.qkv = qkv.data(),
                                         .rows = &row,
                                         .layer = layer,
                                         .mixed = mixed.data(),
                                         .num_rows = 1,
                                         .heads = 1,
                                         .scale = std::log(2.0f)});
  const double others = (kLength - 1) * std::exp2(-25.5);
  REQUIRE(is_near(mixed[0], 60000.0 * others / (1 + others)));
}

TEST_CASE("places in pages need no division", "[cuda]") {
  for (const int64_t page_size : {8, 16, 24, 40, 256, 4096, 4104}) {
    const uint32_t factor = PagedLayer<float>::reciprocal(page_size);
    for (int64_t position = 0; position < (int64_t{1} << 20); position += 1 + position % 7)
      REQUIRE(static_cast<int64_t>(static_cast<uint64_t>(position) * factor >> 32) == position / page_size);
  }
}

TEST_CASE("pages lie beyond 2^31 numbers", "[cuda]") {
  constexpr int32_t kPages = 200'000, kHeads = 8, kDim = 128, kLast = kPages - 1;
  constexpr int64_t kPageNumbers = kHeads * kPage * kDim;
  static_assert(kLast * kPageNumbers > int64_t{1} << 31);
  const test::Reserved<Bf16> keys(kPages * kPageNumbers), values(kPages * kPageNumbers);
  keys.open(kLast * kPageNumbers, kPageNumbers);
  values.open(kLast * kPageNumbers, kPageNumbers);
  const PagedLayer<Bf16> layer{.keys = keys.data(),
                               .values = values.data(),
                               .tables = &kLast,
                               .table_width = 1,
                               .page_size = kPage,
                               .kv_heads = kHeads,
                               .head_dim = kDim,
                               .page_factor = PagedLayer<Bf16>::reciprocal(kPage)};
  const std::vector<float> angles(kPage * kDim, 0.0f);
  const StepRow row{0, 0, 0};
  std::vector<Bf16> qkv(3 * kHeads * kDim), mixed(kHeads * kDim);
  const auto wide = random_floats(std::ssize(qkv), 1);
  for (size_t i = 0; i < qkv.size(); ++i) store(qkv[i], wide[i]);
  test::run_kernel(PlaceHeads<Bf16>{.qkv = qkv.data(),
                                    .cos = angles.data(),
                                    .sin = angles.data(),
                                    .rows = &row,
                                    .layer = layer,
                                    .num_rows = 1,
                                    .heads = kHeads});
  test::run_kernel(AttendPages<Bf16, kDim>{
      .qkv = qkv.data(), .rows = &row, .layer = layer, .mixed = mixed.data(), .num_rows = 1, .heads = kHeads});
  for (int64_t i = 0; i < kHeads * kDim; ++i)  // one token's values are the result
    REQUIRE(to_float(mixed[i]) == to_float(qkv[2 * kHeads * kDim + i]));
}

TEST_CASE("float16 widens and rounds as LibTorch's", "[ops]") {
  for (uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const Fp16 half{static_cast<uint16_t>(bits)};
    const float wide = to_float(half), expected = c10::Half(half.bits, c10::Half::from_bits());
    REQUIRE((float_bits(wide) == float_bits(expected) || (std::isnan(wide) && std::isnan(expected))));
  }
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099) {
    const float x = float_from_bits(static_cast<uint32_t>(bits));
    Fp16 half;
    store(half, x);
    const c10::Half expected(x);
    REQUIRE((half.bits == expected.x || (std::isnan(to_float(half)) && std::isnan(static_cast<float>(expected)))));
  }
  for (const float x :
       {2049.0f, 2051.0f, 65519.9f, 65520.0f, 0x1p-25f, 0x1.8p-24f, 0x1p-14f, -0x1.ffep-15f}) {  // half way
    Fp16 half;
    store(half, x);
    REQUIRE(half.bits == c10::Half(x).x);
  }
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
  CHECK(std::isnan(rounded(float_from_bits(0x7FFFFFFF))));  // a GPU's own
}

}  // namespace roll
