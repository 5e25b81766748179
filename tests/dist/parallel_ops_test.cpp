// Gradients across ranks, against the sum of all ranks' losses written down for one process; numbers are whole, so
// equality is exact.
#include "dist/parallel_ops.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <future>

#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "job/join.h"

namespace roll {

using test::run_local_ranks;

namespace {

constexpr int kRanks = 3;
constexpr int64_t kRows = 2;

/// Another [rows, 4] for every rank and purpose.
at::Tensor numbers(int rank, int64_t rows, int64_t purpose) {
  return (at::arange(rows * 4, at::kDouble) * (rank + 2 + purpose)).remainder(11).view({rows, 4}) - rank;
}

at::Tensor own_rows(const at::Tensor& all, int rank) {
  return all.narrow(0, rank * kRows, kRows);
}

std::string verdict(bool values, bool gradients) {
  return values && gradients ? "" : values ? "the gradient is wrong" : "the values are wrong";
}

}  // namespace

TEST_CASE("rows gathered for different work get the sum of all ranks' gradients", "[dist]") {
  for (const auto& wrong : run_local_ranks(kRanks, [](Communicator& ranks) {
         const at::Tensor x = numbers(ranks.rank(), kRows, 0).requires_grad_();
         const at::Tensor y = gather_rows(x, ranks, "x");
         (y * numbers(ranks.rank(), kRanks * kRows, 1)).sum().backward();
         at::Tensor expected = at::zeros({kRows, 4}, at::kDouble);
         for (int r = 0; r < kRanks; ++r) expected += own_rows(numbers(r, kRanks * kRows, 1), ranks.rank());
         bool values = true;
         for (int r = 0; r < kRanks; ++r) values = values && at::equal(own_rows(y, r), numbers(r, kRows, 0));
         return verdict(values, at::equal(x.grad(), expected));
       }))
    CHECK(wrong == "");
}

namespace {

/// x, on whose way back something is done.
at::Tensor doing_in_backward(const at::Tensor& x, const std::function<void()>& work) {
  at::Tensor y = x * 1;
  y.register_hook([work](const at::Tensor&) { work(); });
  return y;
}

}  // namespace

TEST_CASE("what is computed while rows are under way is done beside that, forward and backward", "[dist]") {
  for (const auto& wrong : run_local_ranks(2, [](Communicator& ranks) {
         // The first rank's work ends when the other one has its rows, and that sends none before the work has begun.
         const auto others = ranks.split({0, 1}, "others");
         const bool is_first = ranks.is_first();
         const auto meet = [&] { others->barrier("beside"); };
         const auto work = [&] {
           if (!is_first) return;
           meet();
           meet();
         };
         const at::Tensor x = numbers(ranks.rank(), kRows, 0).requires_grad_();
         const at::Tensor factors = numbers(ranks.rank(), kRows, 1);
         at::Tensor beside;
         if (!is_first) meet();
         const at::Tensor y = exchange_rows_beside(x, {1, 1}, {1, 1}, ranks, "x", [&] {
           work();
           beside = doing_in_backward(x * 3, work);
         });
         if (!is_first) meet();
         const at::Tensor sum = y + beside;
         if (!is_first) x.register_hook([&](const at::Tensor&) { meet(); });
         const at::Tensor end = is_first ? sum : doing_in_backward(sum, meet);
         (end * factors).sum().backward();
         at::Tensor values = at::empty_like(y), gradient = 3 * factors;
         for (int r = 0; r < 2; ++r) {
           values[r].copy_(numbers(r, kRows, 0)[ranks.rank()]);
           gradient[r] += numbers(r, kRows, 1)[ranks.rank()];
         }
         return verdict(at::equal(y, values), at::equal(x.grad(), gradient));
       }))
    CHECK(wrong == "");
}

TEST_CASE("partial sums that are scattered get every part's gradient", "[dist]") {
  for (const auto& wrong : run_local_ranks(kRanks, [](Communicator& ranks) {
         const at::Tensor x = numbers(ranks.rank(), kRanks * kRows, 0).requires_grad_();
         const at::Tensor y = sum_scatter_rows(x, ranks, "x");
         (y * numbers(ranks.rank(), kRows, 1)).sum().backward();
         at::Tensor sum = at::zeros({kRows, 4}, at::kDouble);
         std::vector<at::Tensor> expected;
         for (int r = 0; r < kRanks; ++r) {
           sum += own_rows(numbers(r, kRanks * kRows, 0), ranks.rank());
           expected.push_back(numbers(r, kRows, 1));
         }
         return verdict(at::equal(y, sum), at::equal(x.grad(), at::cat(expected)));
       }))
    CHECK(wrong == "");
}

TEST_CASE("results gathered for the same work keep this rank's gradient, and nothing is sent", "[dist]") {
  for (const auto& wrong : run_local_ranks(kRanks, [](Communicator& ranks) {
         const at::Tensor x = numbers(ranks.rank(), kRows, 0).requires_grad_();
         const at::Tensor y = gather_results(x, ranks, "x");
         ranks.traffic().take();
         (y * y).sum().backward();
         bool values = ranks.traffic().take().empty();
         for (int r = 0; r < kRanks; ++r) values = values && at::equal(own_rows(y, r), numbers(r, kRows, 0));
         return verdict(values, at::equal(x.grad(), 2 * x.detach()));
       }))
    CHECK(wrong == "");
}

TEST_CASE("backward's collectives carry the name of forward's", "[dist]") {
  std::promise<void> given_up;
  const auto said = run_local_ranks(
      2,
      [&](Communicator& ranks) {
        const at::Tensor y = gather_rows(at::ones({2, 2}).requires_grad_(), ranks, "hidden states").sum();
        if (!ranks.is_first()) return given_up.get_future().wait(), std::string();
        const std::string text = test::message_of([&] { y.backward(); });
        given_up.set_value();
        return text;
      },
      3);
  CHECK_THAT(said[0], Catch::Contains("reduce-scatter 'hidden states backward'"));
}

TEST_CASE("a group of one gives back what it gets", "[dist]") {
  const auto alone = make_communicator({.kind = Transport::kSingle});
  const at::Tensor x = at::ones({2, 2});
  CHECK(gather_rows(x, *alone, "x").is_same(x));
  CHECK(sum_scatter_rows(x, *alone, "x").is_same(x));
  CHECK(gather_results(x, *alone, "x").is_same(x));
}

}  // namespace roll
