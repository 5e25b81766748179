#include "dist/mesh.h"

#include <functional>

#include "base/error.h"

namespace roll {

namespace {

using Key = std::function<int64_t(const MeshPlace&)>;

/// The ranks whose places have the same key as this rank's.
std::unique_ptr<Communicator> split_by(Communicator& world, const MeshShape& shape, const char* group, const Key& key) {
  const int64_t own = key(mesh_place(world.rank(), shape));
  std::vector<int> members;
  for (int rank = 0; rank < world.size(); ++rank)
    if (key(mesh_place(rank, shape)) == own) members.push_back(rank);
  return world.split(members, group);
}

}  // namespace

MeshPlace mesh_place(int64_t rank, const MeshShape& shape) {
  return {.dp = rank / shape.model_ranks(), .cp = rank / shape.tp % shape.cp, .tp = rank % shape.tp};
}

Mesh::Mesh(Communicator& world, MeshShape shape)
    : world_(world), shape_(shape), place_(mesh_place(world.rank(), shape)) {
  ROLL_CHECK_EQ(world.size() % shape.model_ranks(), 0, "the configuration was checked");
  const int64_t cp = shape.cp, tp = shape.tp;
  dp_ = split_by(world, shape, "dp", [=](const MeshPlace& p) { return p.cp * tp + p.tp; });
  cp_ = split_by(world, shape, "cp", [=](const MeshPlace& p) { return p.dp * tp + p.tp; });
  tp_ = split_by(world, shape, "tp", [=](const MeshPlace& p) { return p.dp * cp + p.cp; });
  shards_ = split_by(world, shape, "shards", [=](const MeshPlace& p) { return p.tp; });
}

Mesh& Meshes::of(const MeshShape& shape) {
  auto& mesh = meshes_[shape];
  if (!mesh) mesh = std::make_unique<Mesh>(world_, shape);
  return *mesh;
}

}  // namespace roll
