#include "forecast/planned_ranks.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/mesh.h"
#include "settings/placement.h"

namespace roll {
namespace {

const AbsentMessages kNoWords = [](int, std::string_view) { return std::string(); };

/// `num_ranks`, four to a host, that all run.
PlannedWorld world_of(int64_t num_ranks, Path path = Path::kHost) {
  return {.requested_rank = all_ranks(num_ranks),
          .num_requested = num_ranks,
          .path = path,
          .ranks_per_host = 4,
          .running = all_ranks(num_ranks)};
}

/// What rank 5 sends in a mesh whose groups each reduce as much, without data; of the groups of all ranks where more
/// are asked for.
std::map<std::string, Moved> traffic_of_5(const PlannedWorld& world, const MeshShape& shape, int64_t numel = 1 << 20) {
  std::map<std::string, Moved> moved;
  const auto make_groups = [&](Communicator& requested) { const Mesh mesh(requested, shape); };
  run_planned_ranks(world, make_groups, kNoWords, [&](int rank, Communicator& ranks, RankTraffic& traffic) {
    Mesh mesh(ranks, shape);
    at::Tensor numbers = at::empty({numel}, at::kMeta);
    for (Communicator* group : {&mesh.world(), &mesh.dp(), &mesh.cp(), &mesh.tp(), &mesh.shards()})
      group->all_reduce_sum(numbers, "numbers");
    if (rank == 5) moved = traffic.moved;
  });
  return moved;
}

double far_share(const std::map<std::string, Moved>& moved, const std::string& group) {
  const Flow& sent = moved.at("start/" + group + "/all_reduce").sent;
  return sent.far_bytes / static_cast<double>(sent.bytes);
}

/// What `body` gives on each running rank, joined.
std::string said_by_all(const PlannedWorld& world, const std::function<std::string(Communicator&)>& body,
                        const AbsentMessages& absent = kNoWords) {
  std::vector<std::string> said(world.num_planned());
  run_planned_ranks(
      world, [](Communicator&) {}, absent,
      [&](int rank, Communicator& ranks, RankTraffic&) { said[rank] = body(ranks); });
  return fmt::format("{}", fmt::join(said, ";"));
}

}  // namespace

TEST_CASE("a group's far members are those on other hosts", "[preview]") {
  const auto moved = traffic_of_5(world_of(16), {.cp = 2, .tp = 2});
  CHECK(far_share(moved, "tp") == 0);
  CHECK(far_share(moved, "cp") == 0);
  CHECK(far_share(moved, "dp") == 1);
  CHECK(far_share(moved, "shards") == Approx(6.0 / 7));  // of 7 others one is on the host
  CHECK(far_share(moved, "world") == Approx(12.0 / 15));
}

TEST_CASE("a ring leaves each host once", "[preview]") {
  const auto moved = traffic_of_5(world_of(16, Path::kDevice), {.cp = 1, .tp = 2});
  CHECK(far_share(moved, "world") == 0.25);
  CHECK(far_share(moved, "dp") == 0.5);
  CHECK(far_share(moved, "tp") == 0);
}

TEST_CASE("a host that is not full has fewer near ranks", "[preview]") {
  CHECK(far_share(traffic_of_5(world_of(6), {}), "world") == Approx(4.0 / 5));
}

TEST_CASE("ranks that stand for others have groups of the others' size", "[preview]") {
  PlannedWorld few = world_of(8);
  few.num_requested = 16;
  const auto of_few = traffic_of_5(few, {.cp = 2, .tp = 2}), of_all = traffic_of_5(world_of(16), {.cp = 2, .tp = 2});
  REQUIRE(of_few.size() == of_all.size());
  for (const auto& [key, moved] : of_all) {
    CAPTURE(key);
    CHECK(of_few.at(key).sent.bytes == moved.sent.bytes);
    CHECK(of_few.at(key).received.bytes == moved.received.bytes);
    CHECK(of_few.at(key).sent.far_bytes == moved.sent.far_bytes);
  }
}

TEST_CASE("numbers and bytes pass between planned ranks", "[preview]") {
  CHECK(said_by_all(world_of(3), [](Communicator& ranks) {
          at::Tensor local = at::full({2}, ranks.rank(), at::kDouble), root = local.clone();
          ranks.broadcast(root, 2, "root");
          std::vector<at::Tensor> out, in;
          for (int peer = 0; peer < ranks.size(); ++peer)
            out.push_back(at::full({1}, 10 * ranks.rank() + peer, at::kLong)), in.push_back(at::zeros({1}, at::kLong));
          ranks.exchange(out, in, "messages");
          return fmt::format("{} {} {} {} {} {} {}", ranks.all_reduce_sum(int64_t{ranks.rank()}, "sum"),
                             ranks.all_reduce_max(int64_t{ranks.rank()}, "largest"), root[1].item<double>(),
                             ranks.all_gather_rows(local, "all")[4].item<double>(),
                             ranks.reduce_scatter_rows(at::arange(3), "parts").item<int64_t>(),
                             at::cat(in).sum().item<int64_t>(),
                             fmt::join(ranks.all_gather_bytes(std::to_string(ranks.rank()), "names"), ""));
        }) == "3 2 2 2 0 30 012;3 2 2 2 3 33 012;3 2 2 2 6 36 012");
}

TEST_CASE("planned ranks that do not run say what is told of them", "[preview]") {
  PlannedWorld world = world_of(4);
  world.running = {0, 2};
  const auto absent = [](int rank, std::string_view name) {
    return name == "facts" ? fmt::format("rank {}", rank) : std::string();
  };
  const auto said = [](Communicator& ranks) {
    return fmt::format("{} {} {}", fmt::join(ranks.all_gather_bytes("me", "facts"), ","),
                       fmt::join(ranks.all_gather_bytes(std::to_string(ranks.rank()), "else"), ""),
                       ranks.all_reduce_sum(int64_t{1}, "running"));
  };
  const std::string expected = "me,rank 1,me,rank 3 0020 2";
  CHECK(said_by_all(world, said, absent) == expected + ";;" + expected + ";");
}

TEST_CASE("what fails on one planned rank ends all", "[preview]") {
  CHECK_THROWS_WITH(said_by_all(world_of(3),
                                [](Communicator& ranks) -> std::string {
                                  if (ranks.rank() == 1) throw UserError("no such rule");
                                  ranks.barrier("others");
                                  return "";
                                }),
                    "no such rule");
}

TEST_CASE("planned ranks that would wait for ever are told of", "[preview]") {
  CHECK_THROWS_AS(said_by_all(world_of(3),
                              [](Communicator& ranks) {
                                if (ranks.rank() > 0) ranks.barrier("others");
                                return std::string();
                              }),
                  Bug);
}

TEST_CASE("what stands for several is counted as often", "[preview]") {
  run_planned_ranks(
      world_of(2), [](Communicator&) {}, kNoWords,
      [](int, Communicator& ranks, RankTraffic& traffic) {
        at::Tensor numbers = at::empty({10'000}, at::kMeta);
        ranks.count_times(28);
        ranks.all_reduce_sum(numbers, "numbers");
        ranks.count_times(1);
        ranks.all_reduce_sum(numbers, "numbers");
        ROLL_CHECK_EQ(traffic.moved.at("start/world/all_reduce").sent.bytes, 29 * 40'000, "each of two sends all");
      });
}

}  // namespace roll
