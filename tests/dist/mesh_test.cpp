#include "dist/mesh.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "dist/local_ranks.h"
#include "dist/messages.h"
#include "job/join.h"

namespace roll {

using test::run_local_ranks;

namespace {

struct Word {
  static constexpr MessageKind kMessage{"WORD", 1, "a word"};
  std::string text;
  template <class F>
  void fields(F& field) {
    field("text", text);
  }
};

}  // namespace

TEST_CASE("tensor ranks stand next to each other, then context ranks, then data ranks", "[dist]") {
  std::string places;
  for (int64_t rank = 0; rank < 12; ++rank) {
    const MeshPlace place = mesh_place(rank, {.cp = 3, .tp = 2});
    places += fmt::format("{}{}{} ", place.dp, place.cp, place.tp);
  }
  CHECK(places == "000 001 010 011 020 021 100 101 110 111 120 121 ");
}

TEST_CASE("eight ranks make the groups of 2 x 2 x 2", "[dist]") {
  const auto said = run_local_ranks(8, [](Communicator& world) {
    Mesh mesh(world, {.cp = 2, .tp = 2});
    const std::string own = std::to_string(world.rank());
    std::string text = fmt::format("{}{}{} {}", mesh.place().dp, mesh.place().cp, mesh.place().tp, mesh.dp_size());
    for (Communicator* group : {&mesh.dp(), &mesh.cp(), &mesh.tp(), &mesh.shards()})
      text += fmt::format(" {} {}", group->group(), fmt::join(group->all_gather_bytes(own, "members"), ""));
    world.barrier("all have met");
    return text + (mesh.is_leader() ? " leads" : "");
  });
  CHECK(said[0] == "000 2 dp 04 cp 02 tp 01 shards 0246 leads");
  CHECK(said[1] == "001 2 dp 15 cp 13 tp 01 shards 1357");
  CHECK(said[2] == "010 2 dp 26 cp 02 tp 23 shards 0246");
  CHECK(said[3] == "011 2 dp 37 cp 13 tp 23 shards 1357");
  CHECK(said[4] == "100 2 dp 04 cp 46 tp 45 shards 0246 leads");
  CHECK(said[5] == "101 2 dp 15 cp 57 tp 45 shards 1357");
  CHECK(said[6] == "110 2 dp 26 cp 46 tp 67 shards 0246");
  CHECK(said[7] == "111 2 dp 37 cp 57 tp 67 shards 1357");
}

TEST_CASE("stages have links to their neighbours, and the last ones lead", "[dist]") {
  const auto said = run_local_ranks(6, [](Communicator& world) {
    Mesh mesh(world, {.tp = 2, .pp = 3});
    const std::string own = std::to_string(world.rank());
    std::string text = fmt::format("{}{}", mesh.place().pp, mesh.place().tp);
    std::vector<Communicator*> groups = {&mesh.tp(), &mesh.shards(), &mesh.pp(), &mesh.pipeline_ends()};
    if (mesh.place().pp > 0) groups.push_back(mesh.previous_stage().gradients.get());
    if (mesh.place().pp < 2) groups.push_back(mesh.next_stage().gradients.get());
    for (Communicator* group : groups)
      text += fmt::format(" {}", fmt::join(group->all_gather_bytes(own, "members"), ""));
    world.barrier("all have met");
    return text + (mesh.is_leader() ? " leads" : "");
  });
  CHECK(said[0] == "00 01 0 024 04 02");
  CHECK(said[1] == "01 01 1 135 15 13");
  CHECK(said[2] == "10 23 2 024 2 02 24");
  CHECK(said[3] == "11 23 3 135 3 13 35");
  CHECK(said[4] == "20 45 4 024 04 24 leads");
  CHECK(said[5] == "21 45 5 135 15 35");
}

TEST_CASE("interleaved stages are a ring, and ranks of one stage share its experts", "[dist]") {
  const auto said = run_local_ranks(8, [](Communicator& world) {
    Mesh mesh(world, {.ep = 2, .pp = 4, .ring = true});
    std::string text;
    for (Communicator* group : {mesh.experts(), &mesh.expert_shards()})
      text += fmt::format("{} ", fmt::join(group->all_gather_bytes(std::to_string(world.rank()), "members"), ""));
    const auto told_by = [&](Communicator& to, Communicator& from) {
      const auto sent = to.start_broadcast(at::full({1}, world.rank(), at::kLong), to.rank(), "to a neighbour");
      at::Tensor received = at::empty({1}, at::kLong);
      from.broadcast(received, 1 - from.rank(), "to a neighbour");
      sent->wait();
      return received.item<int64_t>();
    };
    StageLink &next = mesh.next_stage(), &previous = mesh.previous_stage();
    text += fmt::format("{} {}", told_by(*next.activations, *previous.activations),
                        told_by(*previous.gradients, *next.gradients));
    world.barrier("all have met");
    return text;
  });
  CHECK(said[0] == "04 0 3 1");
  CHECK(said[1] == "15 1 0 2");
  CHECK(said[3] == "37 3 2 0");
  CHECK(said[4] == "04 4 7 5");
  CHECK(said[7] == "37 7 6 4");
}

TEST_CASE("roles of one shape share a mesh", "[dist]") {
  const auto said = run_local_ranks(2, [](Communicator& world) {
    Meshes meshes(world);
    Mesh& data = meshes.of({});
    Mesh& tensor = meshes.of({.tp = 2});
    const bool shared = &meshes.of({.cp = 1, .tp = 1}) == &data && &meshes.of({.cp = 1, .tp = 2}) == &tensor;
    const bool others = &data != &tensor && &meshes.of({.cp = 2}) != &tensor;
    world.barrier("all have met");
    return fmt::format("{} {} {} {}", shared, others, data.dp_size(), tensor.dp_size());
  });
  for (const auto& text : said) CHECK(text == "true true 2 1");
}

TEST_CASE("a role within a part of its world has its mesh under that part's numbers", "[dist]") {
  const auto said = test::run_local_ranks(4, [](Communicator& world) {
    Meshes meshes(world);
    RoleMesh& role = meshes.of({1, 3}, {.tp = 2});
    const std::vector<int> members = {0, 1, 3};
    Communicator* const part = meshes.group(members);
    if (!part) return std::string("apart");
    RoleMesh within = role.within(*part, members);
    CHECK_THROWS_AS(role.within(*part, {0, 1}), Bug);
    const std::string told = broadcast_message(Word{role.is_here() ? "ours" : ""}, within, "what the role knows").text;
    const bool is_same = role.is_here() ? &within.mesh() == &role.mesh() : !within.is_here();
    return fmt::format("{} {} {}", fmt::join(within.ranks(), ","), told, is_same);
  });
  CHECK(said == std::vector<std::string>{"1,2 ours true", "1,2 ours true", "apart", "1,2 ours true"});
}

TEST_CASE("ranks that no grid can be made of are a bug", "[dist]") {
  const auto alone = make_communicator({.kind = Transport::kSingle});
  CHECK_THROWS_AS(Mesh(*alone, {.tp = 2}), Bug);
}

}  // namespace roll
