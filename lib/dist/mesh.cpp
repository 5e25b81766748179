#include "dist/mesh.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/ranges.h"

namespace roll {

namespace {

using Key = std::function<int64_t(const MeshPlace&)>;

/// Creates the communicator of ranks with the same key as this rank.
std::unique_ptr<Communicator> split_by(Communicator& world, const MeshShape& shape, const char* group, const Key& key) {
  const int64_t own_key = key(mesh_place(world.rank(), shape));
  std::vector<int> members;
  for (int rank = 0; rank < world.size(); ++rank)
    if (key(mesh_place(rank, shape)) == own_key) members.push_back(rank);
  return world.split(members, group);
}

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

MeshPlace mesh_place(int64_t rank, const MeshShape& shape) {
  return {.dp = rank / shape.model_ranks(),
          .cp = rank / shape.tp % shape.cp,
          .tp = rank % shape.tp,
          .pp = rank / shape.stage_ranks() % shape.pp};
}

Mesh::Mesh(Communicator& world, MeshShape shape)
    : world_(world), shape_(shape), place_(mesh_place(world.rank(), shape)) {
  ROLL_CHECK_EQ(world.size() % shape.model_ranks(), 0, "the configuration was checked");
  const int64_t cp = shape.cp, tp = shape.tp, pp = shape.pp;
  dp_ = split_by(world, shape, "dp", [=](const MeshPlace& p) { return (p.pp * cp + p.cp) * tp + p.tp; });
  cp_ = split_by(world, shape, "cp", [=](const MeshPlace& p) { return (p.dp * pp + p.pp) * tp + p.tp; });
  tp_ = split_by(world, shape, "tp", [=](const MeshPlace& p) { return (p.dp * pp + p.pp) * cp + p.cp; });
  shards_ = split_by(world, shape, "shards", [=](const MeshPlace& p) { return p.pp * tp + p.tp; });
  if (pp > 1) link_stages();
  if (shape.ep == 1) return;
  const int64_t ep = shape.ep;
  ROLL_CHECK_EQ(world.size() % (ep * tp * pp), 0, "the configuration was checked");
  const auto shard = [=](const MeshPlace& p) { return p.dp * cp + p.cp; };
  const auto part = [=](const MeshPlace& p) { return p.pp * tp + p.tp; };
  experts_ = split_by(world, shape, "ep", [=](const MeshPlace& p) { return shard(p) / ep * pp * tp + part(p); });
  expert_shards_ =
      split_by(world, shape, "expert shards", [=](const MeshPlace& p) { return shard(p) % ep * pp * tp + part(p); });
}

void Mesh::link_stages() {
  const int64_t pp = shape_.pp, cp = shape_.cp, tp = shape_.tp;
  const auto pipeline = [=](const MeshPlace& p) { return (p.dp * cp + p.cp) * tp + p.tp; };
  pp_ = split_by(world_, shape_, "pp", pipeline);
  ends_ = split_by(world_, shape_, "pp ends", [=](const MeshPlace& p) { return pipeline(p) * pp + p.pp % (pp - 1); });
  // Creates links from even to odd stages first, then the others: a rank has one of each.
  for (const int64_t parity : {0, 1}) {
    if (parity >= pp - 1) break;
    const auto pair = [=](const MeshPlace& p) { return pipeline(p) * pp + (p.pp + parity) / 2; };
    StageLink& link = place_.pp % 2 == parity ? next_ : previous_;
    link.activations = split_by(world_, shape_, "activations", pair);
    link.gradients = split_by(world_, shape_, "gradients of activations", pair);
  }
  if (!shape_.ring) return;
  const auto ends = [=](const MeshPlace& p) { return pipeline(p) * pp + p.pp % (pp - 1); };
  StageLink link{split_by(world_, shape_, "activations of the ring", ends),
                 split_by(world_, shape_, "gradients of the ring", ends)};
  if (place_.pp == pp - 1) next_ = std::move(link);
  if (place_.pp == 0) previous_ = std::move(link);
}

RoleMesh::RoleMesh(Communicator& world, std::vector<int> ranks, Communicator* role_ranks, MeshShape shape)
    : world_(world), ranks_(std::move(ranks)), shape_(shape) {
  if (role_ranks) mesh_ = std::make_shared<Mesh>(*role_ranks, shape);
}

RoleMesh RoleMesh::within(Communicator& part, const std::vector<int>& members) const {
  std::vector<int> positions;
  for (const int rank : ranks_) {
    const auto found = std::ranges::lower_bound(members, rank);
    ROLL_CHECK(found != members.end() && *found == rank, "a role lives within the part");
    positions.push_back(static_cast<int>(found - members.begin()));
  }
  RoleMesh role(part, std::move(positions), nullptr, shape_);
  role.mesh_ = mesh_;
  return role;
}

Mesh& RoleMesh::mesh() {
  ROLL_CHECK(is_here(), "only ranks of a role work in it");
  return *mesh_;
}

void RoleMesh::broadcast(at::Tensor& tensor, std::string_view name) {
  if (!is_everywhere()) world_.broadcast(tensor, ranks_.front(), name);
}

Mesh& Meshes::of(const MeshShape& shape) {
  return of(all_ranks(world_.size()), shape).mesh();
}

RoleMesh& Meshes::of(const std::vector<int>& ranks, const MeshShape& shape) {
  auto& mesh = meshes_[{ranks, shape}];
  if (!mesh) mesh = std::make_unique<RoleMesh>(world_, ranks, group(ranks), shape);
  return *mesh;
}

Communicator* Meshes::group(const std::vector<int>& ranks) {
  if (std::ssize(ranks) == world_.size()) return &world_;
  const bool is_here = std::ranges::binary_search(ranks, world_.rank());
  auto& group = groups_[ranks];
  if (!group) {
    std::vector<int> others;
    std::ranges::set_difference(all_ranks(world_.size()), ranks, std::back_inserter(others));
    group = world_.split(is_here ? ranks : others, "ranks " + ranges_text(is_here ? ranks : others));
  }
  return is_here ? group.get() : nullptr;
}

}  // namespace roll
