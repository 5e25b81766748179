// Shards of parameters under tensor parallelism (Shoeybi et al. 2019, Megatron-LM): which part a rank holds.
//   rows     embedding and lm head by vocabulary; q, k, v by heads; gate, up by intermediate size, with their biases
//   columns  o by heads, down by intermediate size
//   whole    all else: norms, biases of o and down, the value head
// If there are fewer key/value heads than ranks, neighbouring ranks hold copies of the same head.
// If several ranks hold a part, each has a partial gradient, because each sees other tokens or heads.
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

/// A shard: [begin, end) of dimension `dim`; dim -1: the whole tensor.
struct TensorShard {
  int64_t dim = -1, begin = 0, end = 0;
  int64_t copies = 1;  // ranks that hold this same shard
};

/// Returns the shard of rank `rank` of `size` under `cut`.
TensorShard make_tensor_shard(const Cut& cut, int64_t rank, int64_t size);

/// Returns the rows of embedding and lm head that a rank holds.
TensorShard vocabulary_shard(const ModelSpec& spec, int64_t rank, int64_t size);

/// Returns the rule for a UserError ("must divide ...") if `tp` ranks cannot share such a model; else empty.
std::string tensor_parallel_rule(const ModelSpec& spec, int64_t tp);

/// Returns the sum of the elements' bit patterns as whole numbers, modulo 2^64: 0-dim int64, on the tensor's device.
/// Elements have 1, 2, 4 or 8 bytes. Returns 0 if the tensor has no data.
at::Tensor bit_sum(const at::Tensor& tensor);

class ParameterShards {
 public:
  /// `whole`: all parameters. `tp`: ranks that share them; `ep`: ranks that share experts; null: none; must outlive
  /// this. `stage`: has this rank's layers; null: all.
  ParameterShards(const ModelSpec& spec, const std::vector<ParameterShape>& whole, Communicator* tp,
                  Communicator* ep = nullptr, std::shared_ptr<PipelineStage> stage = nullptr);

  bool is_whole() const { return tp_ == nullptr || tp_->size() == 1; }
  const TensorShard& part(const std::string& name) const;
  /// Shape of the whole tensor.
  const std::vector<int64_t>& shape(const std::string& name) const { return entry(name).shape; }
  /// Returns this rank's shard of the whole tensor: a view.
  at::Tensor cut(const std::string& name, const at::Tensor& whole) const;
  /// Returns the whole tensor on every rank, joined from all shards. **Collective** over tp.
  at::Tensor gather(const std::string& name, const at::Tensor& local) const;
  /// Returns all whole parameters on the host, gathered one by one, including other ranks' experts and layers. Empty on
  /// ranks that do not `keep`. **Collective** over tp, ep and stages.
  NamedTensors gather_all(const NamedTensors& local, bool keep) const;
  /// Number of ranks in this rank's group that hold the same shard.
  int64_t count_copies(const std::string& name) const;
  /// Sums the gradient over the ranks that hold this shard, in place. **Collective** over tp, and over a pipeline's
  /// ends.
  void sum_copies(const std::string& name, at::Tensor& gradient) const;
  /// Returns the index of the model's trained parameter `number` in this rank's list, which lacks other ranks' experts
  /// and layers.
  int64_t trained_index(int64_t number) const { return local_indices_[number]; }
  /// Returns a parameter's number in the list of all, whoever holds it.
  int64_t parameter_number(const std::string& name) const { return entry(name).number; }
  /// True if only another expert rank or stage has it: a parameter, or a fused tensor of a folder.
  bool is_elsewhere(const std::string& name) const;
  /// True if it is an expert's, which only one expert rank has.
  bool is_of_expert(const std::string& name) const { return entry(name).expert.has_value(); }
  /// True if it is never trained.
  bool is_constant(const std::string& name) const { return entry(name).is_constant; }
  /// Returns the sum of the bit patterns of the whole parameters. **Collective** over tp, ep and stages.
  int64_t checksum(const NamedTensors& local) const;

  Communicator* tp() const { return tp_; }
  PipelineStage* stage() const { return stage_.get(); }

 private:
  struct Entry {
    std::vector<int64_t> shape;  // whole tensor
    std::vector<TensorShard> parts;
    std::optional<ExpertPlace> expert;
    int64_t layer = -1;
    bool is_at_both_ends = false, is_constant = false;
    int64_t number = 0;  // in the list of all parameters, from 1
  };
  /// Returns the dtype (at::ScalarType) of each stored tensor, as some rank has it in `local`; kNobodyHasIt: none does.
  static constexpr int64_t kNobodyHasIt = -1;
  std::vector<int64_t> gather_dtypes(const std::map<std::string, at::Tensor>& local) const;
  /// True if this stage counts it: only this stage has it, or this is the first of two.
  bool belongs_to_stage(const Entry& entry) const;
  const Entry& entry(const std::string& name) const;
  int64_t rank() const { return tp_ ? tp_->rank() : 0; }
  int64_t size() const { return tp_ ? tp_->size() : 1; }

  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> in_tensors_;  // a folder's fused tensor -> a parameter in it
  std::vector<std::string> order_;                 // names of all stored tensors
  std::vector<int64_t> local_indices_;             // per trained one, its index in this rank's list
  Communicator *tp_, *ep_;
  std::shared_ptr<PipelineStage> stage_;
};

}  // namespace roll
