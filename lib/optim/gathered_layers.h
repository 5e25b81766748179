// ZeRO stage 3 (Rajbhandari et al. 2020), for Learner: during an update, each data-parallel rank holds only a slice of
// the layers' matrices and of their gradients. A layer is gathered when it is computed, while the next one is
// prefetched; its gradients are reduced to slices after its backward. Between updates all layers are whole; vectors,
// embedding and head always are. Buckets and slices: flat_layout.h.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "model/layer_store.h"
#include "optim/optimizer.h"

namespace roll {

/// Returns the number of the layer in a parameter's name: 3 for "model.layers.3.mlp.up_proj.weight"; -1 if the name has
/// no "layers.<number>".
int64_t layer_number(const std::string& name);

class GatheredLayers : public LayerStore {
 public:
  /// Manages the buckets of `optimizer` that have a unit (Bucket::unit). parameters: those of the optimizer, in its
  /// order. ranks: the data-parallel ranks that own its slices. `optimizer` and `ranks` must outlive this object.
  GatheredLayers(FlatOptimizer& optimizer, const NamedTensors& parameters, Communicator& ranks);

  // The functions below are **collective** over `ranks`, in the same order on all ranks.

  /// Called by the model around each layer (model/layer_store.h): enter() makes `weights` whole and starts to gather
  /// `next`; leave() frees `weights`. Outside of an update both do nothing, because all layers are whole.
  void enter(const Weights& weights, const Weights& next, Pass pass) override;
  void leave(const Weights& weights) override;
  /// Begins an update: frees all but this rank's slices of all layers.
  void begin();
  /// Ends a micro-batch's backward: sums the gradients that are still whole over the ranks, adds them to the slices,
  /// and frees these gradients and the layers' weights. Each layer must have run exactly once since the last call.
  void end_backward();
  /// Ends an update: makes all layers whole.
  void end();

 private:
  std::set<int64_t> find_buckets(const Weights& weights) const;
  void start(int64_t bucket);
  void gather(int64_t bucket);
  void reduce(int64_t bucket);

  FlatOptimizer& optimizer_;
  Communicator& ranks_;
  std::map<const c10::TensorImpl*, int64_t> buckets_;  // by parameter
  std::map<int64_t, std::unique_ptr<Pending>> pending_;
  std::vector<int64_t> gathered_buckets_;  // all buckets with a unit
  std::vector<int64_t> open_gradients_;    // buckets whose gradients are being computed
  bool is_updating_ = false;
};

}  // namespace roll
