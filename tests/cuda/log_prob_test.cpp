// The kernels of log-probs against the definition in float64.
#include "cuda/log_prob_text.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "cuda/reserved.h"
#include "cuda/rounding.h"
#include "cuda/warps.h"

namespace roll {

using test::is_near;
using test::random_floats;

namespace {

/// Memory of a GPU: full of poison, and as much aligned.
template <class T>
struct DeviceRow {
  std::vector<Vector<T, 16 / sizeof(T)>> memory;
  explicit DeviceRow(int64_t count) : memory(static_cast<size_t>(count) * sizeof(T) / 16 + 1) {
    test::poison(memory.data(), memory.size() * 16);
  }
  T* data() { return memory.data()->at; }
};

struct Exact {
  double logsumexp, entropy;
  std::vector<double> log_p;
};

Exact exact_of(const float* x, int64_t vocab, double temperature) {
  double top = -INFINITY, sum = 0, weighted = 0;
  for (int64_t j = 0; j < vocab; ++j) top = std::max(top, x[j] / temperature);
  for (int64_t j = 0; j < vocab; ++j) sum += std::exp(x[j] / temperature - top);
  Exact exact{.logsumexp = top + std::log(sum), .entropy = 0, .log_p = std::vector<double>(vocab)};
  for (int64_t j = 0; j < vocab; ++j) {
    exact.log_p[j] = x[j] / temperature - exact.logsumexp;
    if (std::isfinite(exact.log_p[j])) weighted += std::exp(exact.log_p[j]) * exact.log_p[j];
  }
  exact.entropy = -weighted;
  return exact;
}

struct Rows {
  int64_t rows, vocab;
  double temperature;
  DeviceRow<float> logits, log_probs, entropy, logsumexp;
  std::vector<int64_t> labels;

  Rows(int64_t rows, int64_t vocab, const std::vector<float>& x, double temperature)
      : rows(rows),
        vocab(vocab),
        temperature(temperature),
        logits(rows * vocab),
        log_probs(rows),
        entropy(rows),
        logsumexp(rows) {
    std::copy(x.begin(), x.end(), logits.data());
    for (int64_t i = 0; i < rows; ++i) labels.push_back((i * 7 + vocab / 2) % vocab);
  }
  cuda::LogProbRows shape() const { return {labels.data(), rows, vocab, static_cast<float>(1 / temperature)}; }
  void forward() {
    test::run_kernel(LogProbForward{shape(), logits.data(), log_probs.data(), entropy.data(), logsumexp.data()});
  }
};

template <class T>
void check_gradient(Rows& rows, bool in_place) {
  const auto by_log_prob = random_floats(rows.rows, 5), by_entropy = random_floats(rows.rows, 6);
  const std::vector<float> before(rows.logits.data(), rows.logits.data() + rows.rows * rows.vocab);
  rows.labels[0] = -1;
  DeviceRow<T> apart(rows.rows * rows.vocab);
  T* const out = in_place ? reinterpret_cast<T*>(rows.logits.data()) : apart.data();
  test::run_kernel(LogProbBackward<T>{rows.shape(), rows.logits.data(), out, rows.logsumexp.data(), rows.entropy.data(),
                                      by_log_prob.data(), by_entropy.data()});
  for (int64_t i = 0; i < rows.rows; ++i) {
    const Exact exact = exact_of(&before[i * rows.vocab], rows.vocab, rows.temperature);
    for (int64_t j = 0; j < rows.vocab; ++j) {
      const double log_p = exact.log_p[j], p = std::exp(log_p);
      double dz = j == rows.labels[i] ? by_log_prob[i] : 0.0;
      if (p > 0) dz -= p * (by_log_prob[i] + by_entropy[i] * (log_p + exact.entropy));
      CAPTURE(i, j, rows.vocab, before[i * rows.vocab + j], to_float(out[i * rows.vocab + j]), dz / rows.temperature);
      REQUIRE(is_near(out[i * rows.vocab + j], dz / rows.temperature));
    }
  }
}

void check_rows(int64_t vocab, const std::vector<float>& x, double temperature) {
  Rows rows(std::ssize(x) / vocab, vocab, x, temperature);
  rows.forward();
  for (int64_t i = 0; i < rows.rows; ++i) {
    const Exact exact = exact_of(&x[i * vocab], vocab, temperature);
    CAPTURE(i, vocab);
    REQUIRE(is_near(rows.logsumexp.data()[i], exact.logsumexp));
    REQUIRE(is_near(rows.entropy.data()[i], exact.entropy));
    REQUIRE(is_near(rows.log_probs.data()[i], exact.log_p[rows.labels[i]]));
  }
  check_gradient<Bf16>(rows, false);
  check_gradient<float>(rows, true);
}

}  // namespace

TEST_CASE("log-probs, entropies and gradients of rows are those of float64, wherever rows begin", "[cuda]") {
  const double temperature = GENERATE(1.0, 0.7);
  for (const int64_t vocab : {1, 2, 3, 5, 8, 1001, 2048, 4099})
    check_rows(vocab, random_floats(5 * vocab, static_cast<uint64_t>(vocab), vocab % 2 ? 3 : 20), temperature);
}

TEST_CASE("tokens that are impossible take no part, even where a lane sees no others", "[cuda]") {
  auto x = random_floats(3 * 5000, 3);
  for (int64_t j = 0; j < 5000; ++j) {
    if (j % 2048 < 4 || j >= 4900) x[j] = -INFINITY;       // all of lane 0's, and each lane's last
    if (j != 2500 && j != 2514) x[5000 + j] = -INFINITY;   // all but two, one of them the label
    if (j % 3 == 0 && j != 2514) x[10000 + j] = -3.0e38f;  // as good as that
  }
  x[2500] = 1, x[5000 + 2507] = 2, x[10000 + 2514] = 0;
  check_rows(5000, x, 1.0);
}

TEST_CASE("numbers that are none come through", "[cuda]") {
  for (const int64_t place : {0, 1, 700, 999}) {
    auto x = random_floats(1000, 3);
    x[place] = NAN;
    Rows rows(1, 1000, x, 1.0);
    rows.forward();
    CHECK(std::isnan(rows.logsumexp.data()[0]));
    CHECK(std::isnan(rows.entropy.data()[0]));
  }
}

TEST_CASE("rows of log-probs lie beyond 2^31 numbers", "[cuda]") {
  constexpr int64_t kRows = 20000, kVocab = 151937, kLast = kRows - 1;
  static_assert(kLast * kVocab > int64_t{1} << 31);
  const test::Reserved<float> logits(kRows * kVocab);
  const test::Reserved<Bf16> gradient(kRows * kVocab);
  const auto x = random_floats(kVocab, 1);
  std::copy(x.begin(), x.end(), logits.open(kLast * kVocab, kVocab));
  const Bf16* const out = gradient.open(kLast * kVocab, kVocab);
  std::vector<float> one(kRows, 1.0f), log_probs(kRows), entropy(kRows), logsumexp(kRows);
  const std::vector<int64_t> labels(kRows, kVocab - 1);
  const cuda::LogProbRows shape{labels.data(), kRows, kVocab, 1.0f};
  test::run_block(LogProbForward{shape, logits.data(), log_probs.data(), entropy.data(), logsumexp.data()}, kLast);
  const Exact exact = exact_of(x.data(), kVocab, 1);
  CHECK(is_near(log_probs[kLast], exact.log_p[kVocab - 1]));
  test::run_block(LogProbBackward<Bf16>{shape, logits.data(), gradient.data(), logsumexp.data(), entropy.data(),
                                        one.data(), one.data()},
                  kLast);
  const double log_p = exact.log_p[kVocab - 1];
  CHECK(is_near(out[kVocab - 1], 1 - std::exp(log_p) * (1 + log_p + exact.entropy)));
}

}  // namespace roll
