// The kernels between a layer's products against plain loops in float64.
#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>
#include <vector>

#include "cuda/decode_kernels.h"
#include "cuda/rounding.h"
#include "cuda/warps.h"

namespace roll {

using test::is_near;
using test::random_floats;

namespace {

template <class T>
std::vector<T> stored(const std::vector<float>& x) {
  std::vector<T> result(x.size());
  for (size_t i = 0; i < x.size(); ++i) store(result[i], x[i]);
  return result;
}

template <class T>
std::vector<T> random_numbers(int64_t count, uint64_t seed) {
  return stored<T>(random_floats(count, seed));
}

template <class T>
std::vector<T> poisoned(int64_t count) {
  std::vector<T> result(count);
  test::poison(result.data(), result.size() * sizeof(T));
  return result;
}

constexpr float kEps = 1e-6f;

/// x / sqrt(mean(x^2) + eps) * weight.
template <class T>
std::vector<double> normed_row(const std::vector<double>& x, const T* weight) {
  double squares = 0;
  for (const double one : x) squares += one * one;
  std::vector<double> result(x.size());
  for (size_t j = 0; j < x.size(); ++j)
    result[j] = x[j] / std::sqrt(squares / static_cast<double>(x.size()) + kEps) * to_float(weight[j]);
  return result;
}

template <class T>
void require_row(const T* found, const std::vector<double>& expected) {
  for (size_t j = 0; j < expected.size(); ++j) {
    CAPTURE(j, to_float(found[j]), expected[j]);
    REQUIRE(is_near(found[j], expected[j]));
  }
}

template <class T>
void check_start(int64_t hidden, bool has_norm, float scale) {
  const auto embedding = random_numbers<T>(7 * hidden, 1);
  const auto norm = random_numbers<float>(hidden, 2);
  std::vector<SlotState> slots(2);
  slots[1].last_token = 5, slots[1].length = 9;
  const std::vector<StepRow> plan = {{3, 4, 0}, {-1, 0, 1}, {0, 0, -1}};
  std::vector<StepRow> rows(3);
  auto x = poisoned<float>(3 * hidden);
  auto input = poisoned<T>(3 * hidden);
  test::run_kernel(StartRows<T>{.plan = plan.data(),
                                .rows = rows.data(),
                                .slots = slots.data(),
                                .embedding = embedding.data(),
                                .norm = has_norm ? norm.data() : nullptr,
                                .x = x.data(),
                                .input = input.data(),
                                .num_rows = 3,
                                .hidden = hidden,
                                .num_tokens = 7,
                                .eps = kEps,
                                .embedding_scale = scale});
  CHECK((rows[1].token == 5 && rows[1].position == 9 && rows[1].slot == 1));
  // Tokens 4 to 6 are on this rank: sums get their embeddings, and x nothing.
  auto sums = poisoned<float>(3 * hidden), no_x = sums;
  test::run_kernel(StartRows<T>{.plan = plan.data(),
                                .rows = rows.data(),
                                .slots = slots.data(),
                                .embedding = embedding.data() + 4 * hidden,
                                .x = no_x.data(),
                                .sums = sums.data(),
                                .num_rows = 3,
                                .hidden = hidden,
                                .first_token = 4,
                                .num_tokens = 3,
                                .embedding_scale = scale});
  CHECK(no_x == std::vector<float>(3 * hidden));
  for (int64_t i = 0; i < 3; ++i) {
    std::vector<double> own(hidden);
    for (int64_t j = 0; j < hidden && i < 2; ++j) own[j] = scale * to_float(embedding[(i == 0 ? 3 : 5) * hidden + j]);
    require_row(&x[i * hidden], own);
    require_row(&sums[i * hidden], i == 1 ? own : std::vector<double>(hidden));
    require_row(&input[i * hidden], has_norm ? normed_row(own, norm.data()) : own);
  }
}

template <class T>
void check_add(int64_t hidden, bool has_bias, bool draws, bool has_after = false, bool has_norm = true,
               float scale = 1) {
  const auto branch = random_numbers<T>(4 * hidden, 1), bias = random_numbers<T>(hidden, 3);
  const auto norm = random_numbers<float>(hidden, 2), after = random_numbers<float>(hidden, 5);
  const auto before = random_floats(4 * hidden, 4);
  std::vector<float> x = before;
  auto input = poisoned<T>(4 * hidden);
  const std::vector<RowDraw> drawn = {{0, 1, 2}, {-1, 0, 0}, {1, 1, 0}, {0, 0, 3}};
  test::run_kernel(AddNorm<T>{.x = x.data(),
                              .branch = branch.data(),
                              .bias = has_bias ? bias.data() : nullptr,
                              .after = has_after ? after.data() : nullptr,
                              .norm = has_norm ? norm.data() : nullptr,
                              .input = input.data(),
                              .draws = draws ? drawn.data() : nullptr,
                              .num_rows = 4,
                              .hidden = hidden,
                              .eps = kEps,
                              .scale = scale});
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t from = draws ? drawn[i].row : i;
    std::vector<double> added(hidden), sum(hidden);
    for (int64_t j = 0; j < hidden; ++j)
      added[j] = static_cast<double>(to_float(branch[from * hidden + j])) + (has_bias ? to_float(bias[j]) : 0.0f);
    if (has_after) added = normed_row(added, after.data());
    for (int64_t j = 0; j < hidden; ++j) sum[j] = before[from * hidden + j] + scale * added[j];
    if (!draws) require_row(&x[i * hidden], sum);
    if (draws && drawn[i].slot < 0) sum.assign(hidden, 0);
    require_row(&input[i * hidden], has_norm ? normed_row(sum, norm.data()) : sum);
  }
  if (draws) CHECK(x == before);
}

template <class T>
void check_gate(int64_t inner, bool has_bias, bool is_gelu = false) {
  auto gate_up = random_numbers<T>(2 * 2 * inner, 1);
  const auto bias = random_numbers<T>(2 * inner, 2);
  store(gate_up[0], -95.0f), store(gate_up[1], 95.0f), store(gate_up[2], -79.0f);
  auto gated = poisoned<T>(2 * inner);
  test::run_kernel(Gate<T>{.gate_up = gate_up.data(),
                           .bias = has_bias ? bias.data() : nullptr,
                           .gated = gated.data(),
                           .num_rows = 2,
                           .inner = inner,
                           .is_gelu = is_gelu});
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < inner; ++j) {
      const auto part = [&](int64_t at) {
        return static_cast<double>(to_float(gate_up[2 * i * inner + at])) + (has_bias ? to_float(bias[at]) : 0.0f);
      };
      CAPTURE(i, j);
      const double x = part(j), twice = 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      REQUIRE(is_near(gated[i * inner + j], x / (1 + std::exp(-(is_gelu ? twice : x))) * part(inner + j)));
    }
}

/// Queries, keys and values of rows 0 and 1; row 2 is nothing.
template <class T>
void check_place(int64_t heads, int32_t kv_heads, int32_t dim, int32_t page_size, bool has_extras, int32_t rotated,
                 bool is_interleaved = false) {
  const int64_t all = heads + 2 * kv_heads, half = rotated / 2;
  const auto before = random_numbers<T>(3 * all * dim, 1), bias = random_numbers<T>(all * dim, 2);
  const auto q_norm = random_numbers<float>(dim, 3), k_norm = random_numbers<float>(dim, 4);
  const auto growth = random_numbers<float>(64, 5);
  std::vector<float> cos(64 * half), sin(64 * half);
  for (size_t i = 0; i < cos.size(); ++i) {
    cos[i] = std::cos(static_cast<float>(i));
    sin[i] = std::sin(static_cast<float>(i));
  }
  const std::vector<int32_t> tables = {3, 1, 2, 0, 5, 4, 6, 7};
  auto qkv = before;
  auto keys = poisoned<T>(8 * int64_t{page_size} * kv_heads * dim), values = keys;
  const PagedLayer<T> layer{.keys = keys.data(),
                            .values = values.data(),
                            .tables = tables.data(),
                            .table_width = 4,
                            .page_size = page_size,
                            .kv_heads = kv_heads,
                            .head_dim = dim,
                            .page_factor = PagedLayer<T>::reciprocal(page_size)};
  const std::vector<StepRow> rows = {{0, page_size + 3, 1}, {0, 2 * page_size - 1, 0}, {0, 0, -1}};
  test::run_kernel(PlaceHeads<T>{.qkv = qkv.data(),
                                 .bias = has_extras ? bias.data() : nullptr,
                                 .q_norm = has_extras ? q_norm.data() : nullptr,
                                 .k_norm = has_extras ? k_norm.data() : nullptr,
                                 .cos = cos.data(),
                                 .sin = sin.data(),
                                 .growth = has_extras ? growth.data() : nullptr,
                                 .rows = rows.data(),
                                 .layer = layer,
                                 .num_rows = 3,
                                 .heads = heads,
                                 .rotated = rotated,
                                 .eps = kEps,
                                 .is_interleaved = is_interleaved});
  for (int64_t i = 0; i < 2; ++i)
    for (int32_t head = 0; head < all; ++head) {
      std::vector<double> x(dim), turned(dim);
      for (int32_t d = 0; d < dim; ++d)
        x[d] = static_cast<double>(to_float(before[(i * all + head) * dim + d])) +
               (has_extras ? to_float(bias[head * dim + d]) : 0.0f);
      const bool is_query = head < heads, is_key = !is_query && head < heads + kv_heads;
      if (has_extras && (is_query || is_key)) x = normed_row(x, is_query ? q_norm.data() : k_norm.data());
      const float *const c = &cos[rows[i].position * half], *const s = &sin[rows[i].position * half];
      turned = x;
      for (int64_t pair = 0; pair < half; ++pair) {
        const int64_t a = is_interleaved ? 2 * pair : pair, b = is_interleaved ? a + 1 : a + half;
        turned[a] = x[a] * c[pair] - x[b] * s[pair];
        turned[b] = x[b] * c[pair] + x[a] * s[pair];
      }
      for (double& one : turned) one *= has_extras && is_query ? growth[rows[i].position] : 1.0f;
      const TokenPlace place =
          layer.token_place(rows[i].slot, rows[i].position, (head - static_cast<int32_t>(heads)) % kv_heads);
      for (int32_t d = 0; d < dim; ++d) {
        CAPTURE(i, head, d);
        if (is_query)
          REQUIRE(is_near(qkv[(i * all + head) * dim + d], turned[d]));
        else if (is_key)
          REQUIRE(is_near(layer.key_at(place, d), turned[d]));
        else
          REQUIRE(is_near(layer.value_at(place, d), x[d]));
      }
    }
}

}  // namespace

TEST_CASE("rows start with their tokens' embeddings, and the first norm is that of float64", "[cuda]") {
  const int64_t hidden = GENERATE(4, 1028, 3584);
  check_start<float>(hidden, true, 1);
  check_start<Bf16>(hidden, true, 1);
  check_start<float>(hidden, false, 2.5f);
}

TEST_CASE("what is added to the stream, and its norm, is that of float64", "[cuda]") {
  const bool has_bias = GENERATE(false, true), draws = GENERATE(false, true);
  check_add<float>(1028, has_bias, draws);
  check_add<Bf16>(1028, has_bias, draws);
  check_add<float>(1028, has_bias, draws, /*has_after=*/true, /*has_norm=*/true, 0.5f);
  check_add<float>(1028, has_bias, draws, /*has_after=*/true, /*has_norm=*/false, 2);
}

TEST_CASE("gates are those of float64, from the smallest to the largest", "[cuda]") {
  const int64_t inner = GENERATE(4, 1024, 2052);
  check_gate<float>(inner, false);
  check_gate<Bf16>(inner, true);
  check_gate<float>(inner, true, /*is_gelu=*/true);
}

TEST_CASE("queries, keys and values are those of float64, in the pages where attention reads them", "[cuda]") {
  const int32_t page_size = GENERATE(8, 16, 24);
  check_place<float>(4, 2, 64, page_size, true, 64);
  check_place<float>(3, 3, 8, page_size, false, 8);
  check_place<Bf16>(6, 2, 128, page_size, true, 128);
  check_place<float>(3, 1, 16, page_size, true, 0);
  check_place<float>(3, 1, 24, page_size, true, 12);
  check_place<Bf16>(3, 1, 16, page_size, false, 8, /*is_interleaved=*/true);
}

TEST_CASE("pages are copied whole, in each of the cache's tensors, and slots get what the plan says", "[cuda]") {
  std::vector<uint64_t> cache(3 * 5 * 40);
  for (size_t i = 0; i < cache.size(); ++i) cache[i] = i;
  const std::vector<uint64_t> before = cache;
  const std::vector<PageMove> moves = {{1, 4}, {0, 2}};
  test::run_kernel(CopyPages{.moves = moves.data(),
                             .num_moves = 2,
                             .num_tensors = 3,
                             .num_pages = 5,
                             .page_words = 40,
                             .cache = cache.data()});
  for (int64_t tensor = 0; tensor < 3; ++tensor)
    for (int64_t page = 0; page < 5; ++page)
      for (int64_t word = 0; word < 40; ++word)
        REQUIRE(cache[(tensor * 5 + page) * 40 + word] == before[(tensor * 5 + (page == 4   ? 1
                                                                                : page == 2 ? 0
                                                                                            : page)) *
                                                                     40 +
                                                                 word]);
  std::vector<SlotState> slots(3);
  std::vector<int32_t> tables(3 * 4, -1);
  const std::vector<SlotSeat> seats = {{.state = {.length = 7}, .slot = 2}};
  const std::vector<TableEntry> entries = {{2, 1, 9}, {0, 3, 8}};
  test::run_kernel(UpdateSlots{.seats = seats.data(),
                               .entries = entries.data(),
                               .num_seats = 1,
                               .num_entries = 2,
                               .table_width = 4,
                               .slots = slots.data(),
                               .tables = tables.data()});
  CHECK(slots[2].length == 7);
  CHECK((tables[9] == 9 && tables[3] == 8 && tables[0] == -1));
}

}  // namespace roll
