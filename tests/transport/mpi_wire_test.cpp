// MPI's own collectives against messages in pairs, which sockets use too. Run by ctest under mpirun: every rank runs
// every case, in the same order; those with [many] on more than kFewRanks ranks as well.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/agree.h"
#include "dist/collectives.h"
#include "dist/test_ranks.h"

namespace roll {

using Catch::Contains;

namespace {

/// Numbers whose sum depends on the order of adding.
at::Tensor rough(int rank, int64_t numel) {
  return at::sin(at::arange(numel, at::kFloat) * (rank + 1.37)) * std::pow(10.0, rank % 5);
}

/// What rank `from` has for rank `to`: most pairs have nothing for each other.
at::Tensor part(int from, int to) {
  return (from + to) % 3 == 0 ? rough(from, 20000 + from - to) : at::empty({0}, at::kFloat);
}

/// Everything that all kinds of collectives give on this rank.
std::vector<at::Tensor> results(Communicator& ranks) {
  std::vector<at::Tensor> found;
  for (const int64_t numel : {0, 1, 4096, 4097, 70001})
    for (const Reduce op : {Reduce::kSum, Reduce::kMax, Reduce::kMin}) {
      ranks.all_reduce(found.emplace_back(rough(ranks.rank(), numel)), op, "reduced");
    }
  for (const int64_t numel : {0, 1, 5000}) {
    found.push_back(ranks.all_gather_rows(rough(ranks.rank(), numel), "gathered"));
    found.push_back(ranks.reduce_scatter_rows(rough(ranks.rank(), numel * ranks.size()), "scattered"));
    for (const int root : {0, ranks.size() - 1})
      ranks.broadcast(found.emplace_back(rough(ranks.rank(), numel)), root, "broadcast");
  }
  for (const size_t unit : {0, 1, 30000})
    for (const std::string& text : ranks.all_gather_bytes(std::string(unit * ranks.rank(), 'x'), "words"))
      found.push_back(at::full({1}, static_cast<int64_t>(text.size()), at::kLong));
  std::vector<at::Tensor> out, in;
  for (int peer = 0; peer < ranks.size(); ++peer) {
    out.push_back(part(ranks.rank(), peer));
    in.push_back(at::zeros_like(part(peer, ranks.rank())));
  }
  ranks.exchange(out, in, "parts");
  found.insert(found.end(), in.begin(), in.end());
  return found;
}

std::string kinds_differ(Communicator& one, Communicator& other) {
  one.traffic().take(), other.traffic().take();
  const std::vector<at::Tensor> a = results(one), b = results(other);
  for (size_t i = 0; i < a.size(); ++i)
    if (!at::equal(a[i], b[i])) return fmt::format("result {} differs", i);
  const auto counts = one.traffic().take(), others = other.traffic().take();
  for (const auto& [key, count] : counts)
    if (!others.contains(key) || others.at(key).bytes != count.bytes || others.at(key).calls != count.calls)
      return key + " is counted differently";
  return "";
}

std::string message_of_bug(const std::function<void()>& diverge) {
  try {
    diverge();
  } catch (const Bug& error) {
    return error.what();
  } catch (const AnotherRankFailed& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("MPI's own collectives give the bits of those in pairs, and count the same bytes", "[mpi][many]") {
  auto& ranks = test::all_mpi_ranks();
  CHECK(kinds_differ(*ranks.collective, *ranks.in_pairs) == "");
}

TEST_CASE("MPI's own collectives reduce, broadcast and gather every dtype and size", "[mpi]") {
  CHECK(test::check_collectives(*test::all_mpi_ranks().collective, at::kCPU) == "");
}

TEST_CASE("sums over MPI's own collectives are added in rank order", "[mpi][many]") {
  CHECK(test::check_sum_order(*test::all_mpi_ranks().collective) == "");
}

TEST_CASE("groups of MPI's own collectives do not mix, and may be used at once", "[mpi][many]") {
  Communicator& ranks = *test::all_mpi_ranks().collective;
  std::vector<int> local;
  for (int rank = ranks.rank() % 2; rank < ranks.size(); rank += 2) local.push_back(rank);
  const auto half = ranks.split(local, "half");
  at::Tensor started = at::full({40000}, std::pow(3, ranks.rank()), at::kDouble);
  const auto pending = half->start_all_reduce(started, "beside");
  for (int64_t i = 0; i < 20; ++i) CHECK(ranks.all_reduce_sum(i, "all") == i * ranks.size());
  pending->wait();
  double expected = 0;
  for (const int rank : local) expected += std::pow(3, rank);
  CHECK(started[0].item<double>() == expected);
  CHECK((started == expected).all().item<bool>());
}

TEST_CASE("ranks that diverge over MPI's own collectives are told who does what, and may go on", "[mpi][many]") {
  Communicator& ranks = *test::all_mpi_ranks().collective;
  if (ranks.size() < 2) return;
  ranks.set_step(7);
  at::Tensor counts = at::ones({2});
  const std::string told =
      message_of_bug([&] { ranks.rank() == 1 ? ranks.barrier("step end") : ranks.all_reduce_sum(counts, "counts"); });
  CHECK_THAT(told, Contains(fmt::format("rank {} of {}, step 7: ranks diverged", ranks.rank(), ranks.size())) &&
                       Contains("all-reduce (sum) 'counts' of 8 bytes Float") &&
                       Contains("rank " + std::to_string(ranks.rank() == 1 ? 0 : 1) + " in "));
  CHECK_THAT(told, Contains("all-gather of bytes 'step end'"));
  for (const auto& [numel, name] :
       {std::pair{5 + ranks.rank(), std::string("lengths")}, std::pair{5, fmt::format("name {}", ranks.rank() == 0)}}) {
    at::Tensor tensor = at::ones({numel});
    CHECK_THAT(message_of_bug([&] { ranks.all_reduce_sum(tensor, name); }), Contains("ranks diverged"));
  }
  ranks.set_step(-1);
  CHECK(ranks.all_reduce_sum(int64_t{1}, "again") == ranks.size());
}

TEST_CASE("ranks that expect other sizes than they are sent are told so, by those who are concerned", "[mpi][many]") {
  Communicator& ranks = *test::all_mpi_ranks().collective;
  if (ranks.size() < 2) return;
  std::vector<at::Tensor> out(static_cast<size_t>(ranks.size())), in = out;
  if (ranks.rank() == 0) out[1] = at::ones({3});
  if (ranks.rank() == 1) in[0] = at::ones({4});
  const std::string told = message_of_bug([&] { ranks.exchange(out, in, "sizes"); });
  if (ranks.rank() == 1)
    CHECK_THAT(told, Contains("ranks diverged: this rank is in all-to-all 'sizes' of 0 bytes") &&
                         Contains(", rank 0 in all-to-all 'sizes' of 12 bytes"));
  else
    CHECK(told == "rank 1 failed and has printed the reason");
}

}  // namespace roll
