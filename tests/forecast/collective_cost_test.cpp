#include "forecast/collective_cost.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "dist/local_ranks.h"
#include "dist/single.h"

namespace roll {
namespace {

/// Bytes that this rank sends while `collective` runs.
template <class F>
int64_t counted(Communicator& ranks, F&& collective) {
  ranks.traffic().take();
  collective();
  int64_t bytes = 0;
  for (const auto& [key, count] : ranks.traffic().take()) bytes += count.bytes;
  return bytes;
}

/// Numbers that fit one round, that are cut in slices, and slices of which the last ones are short or empty.
constexpr int64_t kCounts[] = {1, 2048, 2049, 4097, 10007};

std::string differences(Communicator& ranks) {
  const Member own{ranks.size(), ranks.rank()};
  std::string text;
  const auto compare = [&](const char* what, int64_t count, int64_t bytes, const Cost& cost) {
    if (bytes != cost.sent) text += fmt::format("{} of {}: {} sent, not {}; ", what, count, bytes, cost.sent);
  };
  for (const int64_t count : kCounts) {
    at::Tensor numbers = at::ones({count}, at::kDouble);
    compare("all-reduce", count, counted(ranks, [&] { ranks.all_reduce_sum(numbers, "numbers"); }),
            all_reduce_cost(own, Path::kHost, count, 8));
    const at::Tensor all = at::ones({count * ranks.size()}, at::kFloat);
    compare("reduce-scatter", count, counted(ranks, [&] { ranks.reduce_scatter_rows(all, "rows"); }),
            reduce_scatter_cost(own, count * ranks.size() * 4));
    compare("all-gather", count, counted(ranks, [&] { ranks.all_gather_rows(numbers, "rows"); }),
            all_gather_cost(own, count * 8));
    compare("broadcast", count, counted(ranks, [&] { ranks.broadcast(numbers, 1, "numbers"); }),
            broadcast_cost(own, Path::kHost, count * 8, 1));
  }
  return text;
}

}  // namespace

TEST_CASE("what a collective costs is what ranks count that they send", "[preview][dist]") {
  for (const int size : {2, 3, 9}) CHECK(test::run_local_ranks(size, differences) == std::vector<std::string>(size));
}

TEST_CASE("what all ranks of a group send through host memory is what they get", "[preview]") {
  const auto check = [](const char* what, int64_t size, const auto& layer_cost) {
    CAPTURE(what, size);
    int64_t sent = 0, received = 0;
    for (int64_t rank = 0; rank < size; ++rank) {
      const Cost cost = layer_cost(Member{size, rank});
      sent += cost.sent;
      received += cost.received;
    }
    CHECK(sent > 0);
    CHECK(sent == received);
  };
  for (const int64_t size : {2, 3, 9}) {
    for (const int64_t count : kCounts)
      check("all-reduce", size, [&](Member own) { return all_reduce_cost(own, Path::kHost, count, 8); });
    check("reduce-scatter", size, [&](Member own) { return reduce_scatter_cost(own, 360); });
    check("all-gather", size, [&](Member own) { return all_gather_cost(own, 7); });
    check("broadcast", size, [&](Member own) { return broadcast_cost(own, Path::kHost, 7, 1); });
    // Rank r has 10 r bytes.
    check("bytes", size, [&](Member own) { return all_gather_bytes_cost(own, 10 * own.index, 5 * size * (size - 1)); });
  }
}

TEST_CASE("who has little to say gets what the others say", "[preview]") {
  const Cost cost = all_gather_bytes_cost({4, 2}, 10, 100);
  CHECK(cost.sent == 30);
  CHECK(cost.received == 90);
}

TEST_CASE("a rank alone sends nothing", "[preview]") {
  for (const Path path : {Path::kHost, Path::kDevice}) {
    CHECK(all_reduce_cost({}, path, 5000, 8).sent == 0);
    CHECK(broadcast_cost({}, path, 5000, 0).sent == 0);
  }
  CHECK(reduce_scatter_cost({}, 5000).sent == 0);
  CHECK(all_gather_cost({}, 5000).sent == 0);
}

TEST_CASE("on GPUs a reduction takes the bytes of a ring, and a root sends once", "[preview]") {
  CHECK(all_reduce_cost({8, 3}, Path::kDevice, 1000, 4).sent == 2 * 500 * 7);
  CHECK(broadcast_cost({8, 3}, Path::kDevice, 1000, 3).sent == 1000);
  CHECK(broadcast_cost({8, 2}, Path::kDevice, 1000, 3).sent == 0);
  CHECK(broadcast_cost({8, 2}, Path::kDevice, 1000, 3).received == 1000);
}

}  // namespace roll
