// ZeRO stage 3 (Rajbhandari et al. 2020): in an update each data rank has its slice of the layers' matrices and of
// their gradients. A layer is gathered when it is computed, the next one meanwhile, and its gradients go to their
// slices when it has been differentiated. Between updates all layers are whole, for whoever else reads them. Vectors,
// embedding and head always are.
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

/// 3 of "model.layers.3.mlp.up_proj.weight"; -1: of no layer.
int64_t layer_number(const std::string& name);

class GatheredLayers : public LayerStore {
 public:
  /// Of `optimizer`'s buckets with a unit; both must outlive this.
  GatheredLayers(FlatAdamW& optimizer, const NamedTensors& parameters, Communicator& ranks);

  /// All are **collective**, in the same order on all ranks.
  void enter(const Weights& weights, const Weights& next, Pass pass) override;
  void leave(const Weights& weights) override;
  /// An update begins: all layers, which are whole, are cut.
  void begin();
  /// A micro-batch has been differentiated, through which each layer went once: all layers are cut.
  void end_backward();
  /// The update is made: all layers are whole.
  void end();

 private:
  std::set<int64_t> buckets_of(const Weights& weights) const;
  void start(int64_t bucket);
  void gather(int64_t bucket);
  void reduce(int64_t bucket);

  FlatAdamW& optimizer_;
  Communicator& ranks_;
  std::map<const c10::TensorImpl*, int64_t> buckets_;  // of parameters
  std::map<int64_t, std::unique_ptr<Pending>> coming_;
  std::vector<int64_t> all_;   // buckets that are gathered
  std::vector<int64_t> open_;  // whose gradients come
};

}  // namespace roll
