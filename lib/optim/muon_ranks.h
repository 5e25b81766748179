// Muon's updates of matrices that ranks hold in parts, for Learner. Muon needs whole matrices (muon.h), but a rank has
// a slice of the optimizer's state, and a tensor rank has a shard. So each matrix is put together on one rank, and its
// update goes back in parts. All ranks that hold the same layers share the matrices, with nearly equal work.
#pragma once

#include "dist/communicator.h"
#include "model/parameter_shards.h"
#include "optim/optimizer.h"

namespace roll {

/// Ranks that hold the matrices of an optimizer.
struct MuonRanks {
  Communicator& shards;          // data ranks that have the same parameters
  bool shares_optimizer = true;  // a data rank has a slice of the optimizer's state; false: the whole state
  const ParameterShards& parts;  // shards of tensor ranks
};

/// Replaces the directions in the gradients of Muon's parameters, which FlatOptimizer::step() made, by their
/// muon_update(): in this rank's slices, or in whole gradients. Ranks get the same bits in any layout, except for the
/// accumulation of the gradients. Takes memory for this rank's share of the matrices, and for the gradients of one
/// gathered layer. **Collective** over `shards` and tensor ranks.
void make_muon_updates(const FlatOptimizer& optimizer, int64_t num_steps, const MuonRanks& ranks);

}  // namespace roll
