// The text of the CUDA kernel, run by simulated lanes, draws what the CPU draws.
#include "ops/sample_row.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/random.h"
#include "cuda/sample_row_text.h"
#include "cuda/warps.h"

namespace roll {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double uniform_of(uint64_t seed, int64_t position) {
  return random_uniform({.seed = seed, .purpose = Purpose::kInit, .position = static_cast<uint32_t>(position)});
}

/// Normal logits; a third of them rounded, so that many are equal, and here and there one that is impossible.
std::vector<float> logits_of(int64_t vocab, uint64_t seed) {
  std::vector<float> logits(vocab);
  for (int64_t i = 0; i < vocab; ++i) {
    const RandomName name = {.seed = seed, .purpose = Purpose::kInit, .position = static_cast<uint32_t>(i)};
    logits[i] = static_cast<float>((seed % 2 ? 1.0 : 4.0) * random_normal(name));
    if (i % 3 == 0) logits[i] = std::round(logits[i] * 2) / 2;
    if (i % 17 == 5) logits[i] = -kInfinity;
  }
  return logits;
}

/// Every combination of what may be on, in turn.
RowSampling sampling_of(uint64_t number) {
  RowSampling sampling;
  sampling.inverse_temperature = 1 / (0.3 + 0.1 * static_cast<double>(number % 13));
  if (number & 1) sampling.top_p = 0.05 + 0.94 * uniform_of(number, 1);
  if (number & 2) sampling.top_k = 2 + static_cast<int64_t>(60 * uniform_of(number, 2));
  if (number & 4) sampling.least_p = static_cast<float>(0.2 * uniform_of(number, 3));
  if (number & 8) sampling.repetition = 1.3f, sampling.is_counting = 1;
  if (number & 16) sampling.frequency = 0.17, sampling.presence = -0.4, sampling.is_counting = 1;
  if (number % 11 == 0) sampling.is_greedy = 1, sampling.inverse_temperature = 1;
  if (number % 29 == 0) sampling.top_p = 1e-9;
  if (number % 31 == 0) sampling.top_p = std::nextafter(1.0, 0.0);
  return sampling;
}

/// Some tokens of prompt and response; `biased`: half of them with a bias, some with nothing else.
std::vector<TouchedToken> touched_of(int64_t vocab, const RowSampling& sampling, bool biased) {
  std::vector<TouchedToken> touched;
  for (int64_t i = 0; i < std::min<int64_t>(vocab, 40) && (sampling.is_counting || biased); ++i) {
    TouchedToken token{.token = static_cast<int32_t>(vocab <= 40 ? i : i * 37 % vocab)};
    if (sampling.is_counting) token.count = static_cast<int32_t>(i % 5) - 1;
    if (biased && i % 2 == 0) token.bias = static_cast<float>(i % 7) - 3;
    touched.push_back(token);
  }
  return touched;
}

struct KernelResult {
  DrawnToken token;
  SlotState slot;
  std::vector<TouchedToken> touched;
  int64_t bytes_read = 0;  // of logits, by what goes over all of them
};

/// [shards, 2, stride]: the row in place `which`.
std::vector<float> in_shards(const std::vector<float>& row, const RowCut& cut, int64_t stride, bool which) {
  std::vector<float> all(cut.shards * 2 * stride);
  test::poison(all.data(), all.size() * sizeof(float));
  for (int32_t shard = 0; shard < cut.shards; ++shard)
    std::copy(row.begin() + cut.shard_begin(shard), row.begin() + cut.shard_begin(shard + 1),
              all.begin() + (2 * shard + which) * stride);
  return all;
}

/// `second`: the second row of two is drawn from, whose blocks are others'.
template <int kLanes>
KernelResult run_kernels(const std::vector<float>& logits, const SlotState& slot, std::vector<TouchedToken> touched,
                         bool second, const RowCut& cut) {
  KernelResult result{.token = {}, .slot = slot, .touched = std::move(touched)};
  result.slot.num_touched = static_cast<int32_t>(result.touched.size());
  result.touched.push_back({});
  std::vector<float> untouched(result.touched.size());
  const RowDraw draws[] = {{.slot = second ? -1 : 0}, {.slot = second ? 0 : -1}};
  static RowScratch scratch[2];
  test::poison(scratch, sizeof scratch);
  DrawnToken drawn[2];
  const int64_t stride = (cut.shard_begin(1) + 3) / 4 * 4;
  std::vector<float> rows = in_shards(logits, cut, stride, second);
  test::Warps::of_thread().watch(rows.data(), rows.data() + rows.size());
  each_sampling_kernel<kLanes>({.logits = rows.data(),
                                .stride = stride,
                                .rows = 2,
                                .shard_stride = 2 * stride,
                                .cut = cut,
                                .draws = draws,
                                .slots = &result.slot,
                                .touched = result.touched.data(),
                                .original_logits = untouched.data(),
                                .scratch = scratch,
                                .drawn = drawn},
                               [](const auto& kernel) { test::run_kernel(kernel); });
  result.bytes_read = test::Warps::of_thread().watched_bytes();
  result.token = drawn[second];
  return result;
}

template <int kLanes>
KernelResult run_kernels(const std::vector<float>& logits, const SlotState& slot, std::vector<TouchedToken> touched,
                         bool second) {
  return run_kernels<kLanes>(logits, slot, std::move(touched), second, make_row_cut(std::ssize(logits)));
}

template <int kLanes>
void compare_draws(int64_t vocab, uint64_t number) {
  const RowSampling sampling = sampling_of(number);
  const auto logits = logits_of(vocab, number);
  const auto touched = touched_of(vocab, sampling, number % 3 == 0);
  const RandomName name = {.seed = 5, .step = 2, .sequence = (uint64_t{7} << 40) + number, .position = 9};
  const SlotState slot{.sampling = sampling, .name = plain_name(name)};
  RowSampler sampler;
  const DrawnToken expected = sampler.draw(logits, sampling, touched, random_bits(name));
  const RowCut cut = make_row_cut(vocab, std::min<int64_t>(vocab, 1 + static_cast<int64_t>(number % 4)),
                                  1 + static_cast<int64_t>(number % 5));
  const KernelResult kernel = run_kernels<kLanes>(logits, slot, touched, number % 2 == 1, cut);
  CAPTURE(vocab, number, kLanes, sampling.top_p, sampling.top_k, sampling.least_p, cut.shards, cut.splits);
  REQUIRE(kernel.token.token == expected.token);
  REQUIRE(kernel.token.log_prob == expected.log_prob);
  REQUIRE(kernel.token.processed_log_prob == expected.processed_log_prob);
  REQUIRE(kernel.slot.last_token == expected.token);
  REQUIRE(kernel.slot.name.position == 10);
}

}  // namespace

TEST_CASE("the kernel's lanes draw the CPU's token with its log-probs", "[ops]") {
  for (uint64_t number = 0; number < 48; ++number) {
    compare_draws<32>(1, number);
    compare_draws<32>(2, number);
    compare_draws<1024>(5003, number);
  }
  for (uint64_t number = 0; number < 150; ++number) {
    compare_draws<32>(63, number);
    compare_draws<64>(1000, number);
  }
  for (uint64_t number = 0; number < 500; ++number) compare_draws<128>(257, number);
}

TEST_CASE("the kernel draws the CPU's token from the largest vocabularies", "[ops]") {
  for (const uint64_t number : {0, 1, 2, 3, 7, 24, 31}) compare_draws<1024>(151936, number);
  for (const uint64_t number : {0, 3, 7}) compare_draws<1024>(600001, number);  // chunks above their usual size
}

TEST_CASE("a row is cut into parts that have all its tokens once, in chunks of whole reads", "[ops]") {
  for (const int64_t vocab : {1, 5, 127, 128, 5003, 151936, 600001, 1 << 22})
    for (const int64_t shards : {1, 2, 3, 8})
      for (const int64_t splits : {1, 3, 74, 1000}) {
        if (vocab < shards) continue;
        const RowCut cut = make_row_cut(vocab, shards, splits);
        CAPTURE(vocab, shards, splits, cut.splits, cut.part_size, cut.chunk_size, cut.chunks);
        REQUIRE(cut.parts() <= kMostParts);
        REQUIRE(cut.parts() * cut.chunks <= kMostChunks);
        REQUIRE(cut.part_size % 128 + cut.chunk_size % 128 == 0);
        SampledRow row;
        row.cut = cut;
        int32_t next = 0;
        for (int32_t part = 0; part < cut.parts(); ++part)
          for (int32_t chunk = 0; chunk < cut.chunks; ++chunk) {
            const TokenRun run = row.part(part).piece(chunk, cut.chunk_size);
            if (run.count == 0) continue;
            REQUIRE(run.first == next);
            REQUIRE(cut.token_shard(run.first) == part / cut.splits);
            next += run.count;
          }
        REQUIRE(next == vocab);
      }
  CHECK(cut_for(1, 151936, 1, 132).splits == 70);   // 2,176 tokens each
  CHECK(cut_for(16, 151936, 1, 132).splits == 17);  // two for each processor
  CHECK(cut_for(16, 151936, 4, 132).splits == 5);
  CHECK(cut_for(1000, 151936, 1, 132).splits == 1);
  CHECK(cut_for(1, 300, 1, 132).splits == 1);
}

TEST_CASE("a draw reads the logits twice, with a filter three times, whatever penalties touch", "[ops]") {
  for (uint64_t number = 0; number < 32; ++number) {
    const RowSampling sampling = sampling_of(number);
    const auto touched = touched_of(1000, sampling, number % 3 == 0);
    const KernelResult drawn =
        run_kernels<64>(logits_of(1000, number), {.sampling = sampling}, touched, false, make_row_cut(1000, 2, 3));
    CAPTURE(number, sampling.top_p, sampling.top_k, sampling.least_p, touched.size());
    REQUIRE(drawn.token.token >= 0);
    const bool is_filtered = !sampling.is_greedy && (sampling.top_p < 1 || sampling.top_k > 0 || sampling.least_p > 0);
    REQUIRE(drawn.bytes_read == (is_filtered ? 3 : 2) * 4000);
  }
}

TEST_CASE("equal logits: ties of top_k stay, those of top_p go by their ids", "[ops]") {
  const std::vector<float> equal(700, 1.5f);
  RowSampling sampling;
  sampling.top_p = 0.31;
  if (GENERATE(false, true)) sampling.top_k = 3;
  RowSampler sampler;
  int64_t last = 0;
  for (uint32_t i = 0; i < 300; ++i) {
    const RandomName name = {.seed = 1, .position = i};
    const DrawnToken expected = sampler.draw(equal, sampling, {}, random_bits(name));
    const KernelResult kernel = run_kernels<64>(equal, {.sampling = sampling, .name = plain_name(name)}, {}, false);
    REQUIRE(kernel.token.token == expected.token);
    REQUIRE(expected.token < 217);
    REQUIRE(expected.processed_log_prob == Approx(-std::log(217.0)));
    last = std::max<int64_t>(last, expected.token);
  }
  CHECK(last > 205);
}

TEST_CASE("more tokens than the kernel's list of candidates holds are as good", "[ops]") {
  auto logits = logits_of(kMostCandidates + 2000, 3);
  for (float& logit : logits) logit = std::round(logit) / 512;  // eight exponents, in few bins
  RowSampling sampling;
  const int64_t top_k = GENERATE(0, 4000, 5000);
  sampling.top_k = top_k;
  sampling.top_p = 0.93;
  RowSampler sampler;
  for (uint32_t i = 0; i < 20; ++i) {
    const RandomName name = {.seed = 1, .position = i};
    const DrawnToken expected = sampler.draw(logits, sampling, {}, random_bits(name));
    const KernelResult kernel =
        run_kernels<128>(logits, {.sampling = sampling, .name = plain_name(name)}, {}, i % 2 == 1);
    REQUIRE(kernel.token.token == expected.token);
    REQUIRE(kernel.token.processed_log_prob == expected.processed_log_prob);
  }
}

TEST_CASE("the kernel counts what it draws, as a history does", "[ops]") {
  RowSampling sampling;
  sampling.is_greedy = 1;
  sampling.is_counting = 1;
  sampling.frequency = 0.6;
  const std::vector<float> logits = {1, 2, 0, 1.9f};
  SlotState slot{.sampling = sampling};
  std::vector<TouchedToken> touched = {{.token = 3, .count = 0}, {.token = 2, .count = -1, .bias = 1.6f}};
  std::vector<int32_t> drawn;
  for (int i = 0; i < 6; ++i) {
    KernelResult kernel = run_kernels<32>(logits, slot, touched, false);
    drawn.push_back(kernel.token.token);
    slot = kernel.slot;
    kernel.touched.resize(static_cast<size_t>(slot.num_touched));
    touched = kernel.touched;
  }
  CHECK(drawn == std::vector<int32_t>{1, 3, 2, 1, 3, 0});
  CHECK(slot.num_touched == 4);
  sampling.is_counting = 0;
  CHECK(run_kernels<32>(logits, {.sampling = sampling}, {}, false).slot.num_touched == 0);
}

TEST_CASE("rows of no numbers are told by token -1, rows of no slot are left alone", "[ops]") {
  const float bad = GENERATE(as<float>(), kInfinity, std::numeric_limits<float>::quiet_NaN());
  std::vector<float> logits = logits_of(100, 1);
  logits[60] = bad;
  CHECK(run_kernels<32>(logits, {}, {}, false).token.token == -1);
  CHECK(run_kernels<32>(std::vector<float>(9, -kInfinity), {}, {}, false).token.token == -1);
  RowSampling boosting;
  boosting.repetition = 1e-40f;  // of a finite logit it makes an infinite one
  const std::vector<TouchedToken> seen = {{.token = 3, .count = 0}};
  CHECK(run_kernels<32>({1, 2, 3, 4}, {.sampling = boosting}, seen, false).token.token == -1);
  RowSampler sampler;
  CHECK_THROWS_AS(sampler.draw(std::vector<float>{1, 2, 3, 4}, boosting, seen, 1), SystemError);
  SlotState slots[2];
  slots[1].length = 4;
  const RowDraw draws[] = {{.slot = -1}, {.slot = 1, .is_decoding = 1}};
  DrawnToken drawn[2] = {{.token = 77}, {}};
  alignas(16) float rows[2 * 8] = {};
  std::vector<float> untouched(6);
  std::vector<TouchedToken> touched(6);
  rows[8 + 2] = 50;
  std::vector<RowScratch> scratch(2);
  each_sampling_kernel<32>({.logits = rows,
                            .stride = 8,
                            .rows = 2,
                            .shard_stride = 16,
                            .cut = make_row_cut(5),
                            .draws = draws,
                            .slots = slots,
                            .touched = touched.data(),
                            .original_logits = untouched.data(),
                            .touched_per_slot = 3,
                            .scratch = scratch.data(),
                            .drawn = drawn},
                           [](const auto& kernel) { test::run_kernel(kernel); });
  CHECK(drawn[0].token == 77);
  CHECK(drawn[1].token == 2);
  CHECK(slots[1].length == 5);
  CHECK(slots[1].last_token == 2);
  CHECK(slots[0].name.position == 0);
}

}  // namespace roll
