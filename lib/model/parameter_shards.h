// Tensor parallelism (Shoeybi et al. 2019, Megatron-LM): which part of each parameter a rank holds.
//   rows     embedding and lm head by vocabulary; q, k, v by heads; gate, up by intermediate size, with their biases
//   columns  o by heads, down by intermediate size
//   whole    all else: norms, biases of o and down, the value head
// Where there are fewer key/value heads than ranks, neighbouring ranks hold copies of the same head.
// Gradients of what several ranks hold are partial on each of them, because each rank sees other tokens or heads.
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

/// [begin, end) of dimension `dim`; dim -1: the whole tensor.
struct TensorShard {
  int64_t dim = -1, begin = 0, end = 0;
  int64_t copies = 1;  // ranks that hold this very part
};

/// What rank `rank` of `size` holds of a parameter that is cut so.
TensorShard shard_of(const Cut& cut, int64_t rank, int64_t size);

/// The rows of embedding and lm head that a rank holds.
TensorShard vocabulary_shard(const ModelSpec& spec, int64_t rank, int64_t size);

/// UserError's rule ("must divide ...") where `tp` ranks cannot share such a model; else empty.
std::string tensor_parallel_rule(const ModelSpec& spec, int64_t tp);

/// Sum of a tensor's elements as whole numbers of the same bits, modulo 2^64: int64 without dimensions, where the
/// tensor is. 1, 2, 4 or 8 bytes an element. 0 where it has no data.
at::Tensor bit_sum(const at::Tensor& tensor);

class ParameterShards {
 public:
  /// `whole`: all parameters. `tp`: the ranks that share them, `ep`: those that share the experts; must outlive this.
  /// Null: this process holds all. `stage`: which layers it has; null: all.
  ParameterShards(const ModelSpec& spec, const std::vector<ParameterShape>& whole, Communicator* tp,
                  Communicator* ep = nullptr, std::shared_ptr<PipelineStage> stage = nullptr);

  bool is_whole() const { return tp_ == nullptr || tp_->size() == 1; }
  const TensorShard& part(const std::string& name) const;
  /// The shape of the whole tensor.
  const std::vector<int64_t>& shape(const std::string& name) const { return entry(name).shape; }
  /// This rank's part of the whole tensor: a view.
  at::Tensor cut(const std::string& name, const at::Tensor& whole) const;
  /// The whole tensor on every rank, out of all parts. **Collective** over tp.
  at::Tensor gather(const std::string& name, const at::Tensor& mine) const;
  /// All of them, one after the other, on the host, experts and layers of other ranks among them; ranks that do not
  /// `keep` get an empty list. **Collective** over tp, ep and stages.
  NamedTensors gather_all(const NamedTensors& mine, bool keep) const;
  /// Ranks of this rank's group that hold this very part.
  int64_t copies_of(const std::string& name) const;
  /// Adds up the gradients that they hold, in place. **Collective** over tp, and the ends of a pipeline.
  void sum_copies(const std::string& name, at::Tensor& gradient) const;
  /// Where the trained parameter `number` of the whole stands in this rank's list of these, which lacks experts and
  /// layers of other ranks.
  int64_t place_of(int64_t number) const { return places_[number]; }
  /// A parameter's place in the list of all, whoever holds them.
  int64_t number_of(const std::string& name) const { return entry(name).number; }
  /// Whether another expert rank, or stage, has it: a parameter, or one of the tensors in which a folder has several.
  bool is_elsewhere(const std::string& name) const;
  /// Whether expert ranks share it out.
  bool is_of_expert(const std::string& name) const { return entry(name).expert.has_value(); }
  /// Whether it is never trained.
  bool is_constant(const std::string& name) const { return entry(name).is_constant; }
  /// Sum of the bit patterns of the whole parameters. **Collective** over tp, ep and stages.
  int64_t checksum(const NamedTensors& mine) const;

  Communicator* tp() const { return tp_; }
  PipelineStage* stage() const { return stage_.get(); }

 private:
  struct Entry {
    std::vector<int64_t> shape;  // of the whole tensor
    std::vector<TensorShard> parts;
    std::optional<ExpertPlace> expert;
    int64_t layer = -1;
    bool is_at_both_ends = false, is_constant = false;
    int64_t number = 0;  // of the parameter
  };
  /// Of the whole's parameters, by at::ScalarType, as some rank has them among `mine`.
  static constexpr int64_t kNobodyHasIt = -1;
  std::vector<int64_t> dtypes_of_all(const std::map<std::string, at::Tensor>& mine) const;
  /// Whether this stage speaks for it: it alone has it, or is the first to.
  bool is_of_stage(const Entry& entry) const;
  const Entry& entry(const std::string& name) const;
  int64_t rank() const { return tp_ ? tp_->rank() : 0; }
  int64_t size() const { return tp_ ? tp_->size() : 1; }

  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> in_tensors_;  // a folder's tensor -> a parameter in it
  std::vector<std::string> order_;                 // of the whole
  std::vector<int64_t> places_;                    // of each of these that is trained
  Communicator *tp_, *ep_;
  std::shared_ptr<PipelineStage> stage_;
};

}  // namespace roll
