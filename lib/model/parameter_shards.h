// Shards of parameters: the part of each parameter that a tensor rank holds (Shoeybi et al. 2019, Megatron-LM), and
// gathering and checking of shards over all ranks of a model. Sharded are
//   by rows     embedding and lm head by vocabulary; q, k, v by heads; gate, up by intermediate size, with their biases
//   by columns  o by heads, down by intermediate size
//   not at all  all else: norms, biases of o and down, the value head
// If there are fewer key/value heads than ranks, neighbouring ranks hold copies of the same head.
// Ranks with copies of a shard have different partial gradients, because each sees other tokens or heads.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "dist/communicator.h"
#include "model/spec.h"

namespace roll {

class PipelineStage;

/// A shard: indices [begin, end) of dimension `dim` of the whole tensor; dim -1: the whole tensor (begin, end are 0).
struct TensorShard {
  int64_t dim = -1, begin = 0, end = 0;
  int64_t copies = 1;  // number of tensor ranks that hold this same shard
};

/// Returns the shard of tensor rank `rank` of `size` ranks for a parameter with that Cut.
TensorShard make_tensor_shard(const Cut& cut, int64_t rank, int64_t size);

/// Returns the rows of embedding and lm head that a rank holds.
TensorShard vocabulary_shard(const ModelSpec& spec, int64_t rank, int64_t size);

/// Returns "" if `tp` tensor ranks can share such a model; else the rule for a message ("must divide ...").
std::string tensor_parallel_rule(const ModelSpec& spec, int64_t tp);

/// Returns the sum of the elements' bit patterns as whole numbers, modulo 2^64: 0-dim int64, on the tensor's device.
/// Elements have 1, 2, 4 or 8 bytes. Returns 0 if the tensor has no data.
at::Tensor bit_sum(const at::Tensor& tensor);

/// Shards of all parameters of a model. Names are those of stored tensors: a quantised parameter is stored as two.
class ParameterShards {
 public:
  /// `whole`: all parameters of the model, with whole shapes. `tp`: ranks that share each matrix; `ep`: ranks that
  /// share the experts; null: not shared; both must outlive this. `stage`: this rank's pipeline stage; null: no
  /// pipeline.
  ParameterShards(const ModelSpec& spec, const std::vector<ParameterShape>& whole, Communicator* tp,
                  Communicator* ep = nullptr, std::shared_ptr<PipelineStage> stage = nullptr);

  /// True if there is only one tensor rank.
  bool is_whole() const { return tp_ == nullptr || tp_->size() == 1; }
  /// Returns the shard that this rank holds. Throws Bug, like all functions below, if no parameter has that name.
  const TensorShard& part(const std::string& name) const;
  /// Shape of the whole tensor.
  const std::vector<int64_t>& shape(const std::string& name) const { return entry(name).shape; }
  /// Returns this rank's shard of the whole tensor: a view.
  at::Tensor cut(const std::string& name, const at::Tensor& whole) const;
  /// Returns the whole tensor on every tensor rank, joined from all shards. `local`: this rank's. **Collective** over
  /// tp.
  at::Tensor gather(const std::string& name, const at::Tensor& local) const;
  /// Returns whole tensors on the host, including other ranks' experts and layers, for each parameter that some rank
  /// has in `local`; gathers them one by one. Returns an empty list on ranks with `keep` false. **Collective** over tp,
  /// ep and stages.
  NamedTensors gather_all(const NamedTensors& local, bool keep) const;
  /// Number of ranks that hold this rank's shard: tensor ranks, times 2 for a tied embedding in a pipeline.
  int64_t count_copies(const std::string& name) const;
  /// Sums the gradient of this rank's shard, in place, over the ranks with copies of the shard. **Collective** over tp,
  /// and for a tied embedding over a pipeline's first and last stage.
  void sum_copies(const std::string& name, at::Tensor& gradient) const;
  /// Translates an index in the list of all trained tensors of the model to the index in this rank's list,
  /// Transformer::trained(). That list lacks other ranks' experts and layers.
  int64_t trained_index(int64_t number) const { return local_indices_[number]; }
  /// Returns a parameter's number in the list `whole`, counted from 1; the same on all ranks.
  int64_t parameter_number(const std::string& name) const { return entry(name).number; }
  /// True if `name`, a parameter or a fused tensor of the folder, is only on other expert ranks or stages. False for
  /// unknown names.
  bool is_elsewhere(const std::string& name) const;
  /// True for a parameter of an expert, which only one expert rank holds.
  bool is_of_expert(const std::string& name) const { return entry(name).expert.has_value(); }
  /// True if gradients never train it.
  bool is_constant(const std::string& name) const { return entry(name).is_constant; }
  /// True for a matrix that Muon may train (ParameterShape::is_projection).
  bool is_projection(const std::string& name) const { return entry(name).is_projection; }
  /// True for a part of the MTP head (ParameterShape::is_mtp); has_mtp(): true if any rank has such a part.
  bool is_mtp(const std::string& name) const { return entry(name).is_mtp; }
  bool has_mtp() const { return has_mtp_; }
  /// Returns the sum of bit_sum() over all parameters but the MTP head's, which samplers lack, each shard counted once,
  /// modulo 2^48; equal on all ranks. `local`: this rank's shards. **Collective** over tp, ep and stages.
  int64_t checksum(const NamedTensors& local) const;

  Communicator* tp() const { return tp_; }
  PipelineStage* stage() const { return stage_.get(); }

 private:
  struct Entry {
    std::vector<int64_t> shape;  // whole tensor
    std::vector<TensorShard> parts;
    std::optional<ExpertPlace> expert;
    int64_t layer = -1;
    bool is_at_both_ends = false, is_constant = false, is_projection = false, is_mtp = false;
    int64_t number = 0;  // in the list of all parameters, from 1
  };
  /// Returns the dtype (at::ScalarType) of each tensor in order_, as some rank has it in `local`, or kNobodyHasIt.
  static constexpr int64_t kNobodyHasIt = -1;
  std::vector<int64_t> gather_dtypes(const std::map<std::string, at::Tensor>& local) const;
  /// True if this stage holds the parameter and no earlier stage does.
  bool belongs_to_stage(const Entry& entry) const;
  const Entry& entry(const std::string& name) const;
  int64_t rank() const { return tp_ ? tp_->rank() : 0; }
  int64_t size() const { return tp_ ? tp_->size() : 1; }

  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> in_tensors_;  // a folder's fused tensor -> a parameter in it
  std::vector<std::string> order_;                 // names of all stored tensors
  std::vector<int64_t> local_indices_;             // per trained one, its index in this rank's list
  bool has_mtp_ = false;
  Communicator *tp_, *ep_;
  std::shared_ptr<PipelineStage> stage_;
};

}  // namespace roll
