#include "ops/block_product.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

namespace roll {

namespace {

constexpr int64_t kGap = 3;  // numbers between the rows of a matrix, which products leave alone
constexpr float kUntouched = -77;

std::vector<float> numbers(int64_t count, int seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> of(-1, 1);
  std::vector<float> found(count);
  for (float& number : found) number = of(random);
  return found;
}

struct Product {
  int64_t rows, columns, inner;
  Op op;
  bool adds;
};

/// c of the case, its gaps included, by one version; those of rows [first, first + count) only.
std::vector<float> product_of(const Product& of, void (*version)(const BlockProduct<float>&), int64_t first,
                              int64_t count) {
  const int64_t a_stride = (of.op == Op::kPlain ? of.inner : of.rows) + kGap, stride = of.columns + kGap;
  const std::vector<float> a = numbers(std::max(of.rows, of.inner) * a_stride, 1), b = numbers(of.inner * stride, 2);
  std::vector<float> c(of.rows * stride, kUntouched);
  const float* from = a.data() + first * (of.op == Op::kPlain ? a_stride : 1);
  version({count,
           of.columns,
           of.inner,
           0.5f,
           of.op,
           {from, a_stride},
           {b.data(), stride},
           of.adds,
           {c.data() + first * stride, stride}});
  return c;
}

double expected(const Product& of, int64_t row, int64_t column) {
  const int64_t a_stride = (of.op == Op::kPlain ? of.inner : of.rows) + kGap, stride = of.columns + kGap;
  const std::vector<float> a = numbers(std::max(of.rows, of.inner) * a_stride, 1), b = numbers(of.inner * stride, 2);
  double sum = 0;
  for (int64_t k = 0; k < of.inner; ++k)
    sum += static_cast<double>(of.op == Op::kPlain ? a[row * a_stride + k] : a[k * a_stride + row]) *
           b[k * stride + column];
  return 0.5 * sum + (of.adds ? kUntouched : 0);
}

}  // namespace

TEST_CASE("small products of every kind of processor equal sums in double precision", "[ops]") {
  for (const auto version : block_products())
    for (const int64_t rows : {1, 7, 9})
      for (const int64_t columns : {16, 48, 112})
        for (const Product of :
             {Product{rows, columns, 1, Op::kPlain, false}, Product{rows, columns, 33, Op::kPlain, true},
              Product{rows, columns, 33, Op::kTransposed, false}}) {
          const std::vector<float> c = product_of(of, version, 0, rows);
          double worst = 0;
          for (int64_t row = 0; row < rows; ++row)
            for (int64_t column = 0; column < columns + kGap; ++column) {
              const double found = c[row * (columns + kGap) + column];
              if (column >= columns) CHECK(found == kUntouched);
              if (column < columns) worst = std::max(worst, std::abs(found - expected(of, row, column)));
            }
          CAPTURE(rows, columns, of.inner, of.adds);
          CHECK(worst < (of.adds ? 2e-5 : 2e-6));
        }
}

TEST_CASE("a row of a small product has the bits that it has alone", "[ops]") {
  const Product of{9, 48, 33, Op::kPlain, false};
  for (const auto version : block_products()) {
    const std::vector<float> all = product_of(of, version, 0, 9);
    for (int64_t row = 0; row < 9; ++row) {
      const std::vector<float> alone = product_of(of, version, row, 1);
      for (int64_t column = 0; column < 48; ++column)
        CHECK(alone[row * (48 + kGap) + column] == all[row * (48 + kGap) + column]);
    }
  }
}

}  // namespace roll
