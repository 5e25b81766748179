// Run by ctest under mpirun: every rank runs every case, in the same order.
#include <ATen/ATen.h>

#include <chrono>
#include <cstdio>

#include "dist/collectives.h"
#include "dist/test_ranks.h"

using namespace roll;

TEST_CASE("ranks over MPI reduce, broadcast and gather every dtype and size", "[mpi]") {
  Communicator& ranks = test::mpi_ranks();
  REQUIRE(ranks.kind() == "mpi");
  REQUIRE(ranks.size() >= 2);
  CHECK(test::check_collectives(ranks, at::kCPU) == "");
}

TEST_CASE("sums over MPI are added in rank order and rounded once", "[mpi]") {
  CHECK(test::check_sum_order(test::mpi_ranks()) == "");
}

TEST_CASE("tensors above one piece of 64 MiB go through whole", "[mpi]") {
  Communicator& ranks = test::mpi_ranks();
  const int64_t numel = (70 << 20) / 4 + 3;
  at::Tensor tensor = at::arange(numel, at::kFloat).remainder(1000) + ranks.rank();
  ranks.all_reduce_sum(tensor, "large");
  const double offset = ranks.size() * (ranks.size() - 1) / 2.0;
  CHECK(at::equal(tensor, at::arange(numel, at::kFloat).remainder(1000) * ranks.size() + offset));
}

TEST_CASE("rows above one piece of 64 MiB are scattered and gathered whole", "[mpi]") {
  Communicator& ranks = test::mpi_ranks();
  const int64_t rows = (70 << 20) / 4 + 3;
  const at::Tensor all = at::arange(ranks.size() * rows, at::kFloat).remainder(1000);
  const at::Tensor local = ranks.reduce_scatter_rows(all + ranks.rank(), "large");
  const double offset = ranks.size() * (ranks.size() - 1) / 2.0;
  CHECK(at::equal(local, all.narrow(0, ranks.rank() * rows, rows) * ranks.size() + offset));
  CHECK(at::equal(ranks.all_gather_rows(local, "large"), all * ranks.size() + offset));
}

TEST_CASE("a 4 MB all-reduce over MPI: its time is printed", "[mpi][.bench]") {
  Communicator& ranks = test::mpi_ranks();
  for (const int64_t bytes : {8, 4096, 65536, 4 << 20, 64 << 20}) {
    at::Tensor tensor = at::ones({bytes / 4});
    const int repeats = bytes < 1 << 20 ? 500 : 20;
    ranks.all_reduce_sum(tensor, "warm-up");
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i) ranks.all_reduce_sum(tensor, "timing");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (ranks.is_first()) std::printf("%9ld bytes: %.1f us\n", bytes, took.count() / repeats * 1e6);
  }
}
