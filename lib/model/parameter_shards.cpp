// Gathers and checks shards. Every rank knows all ranks' shards, so gathering exchanges no shapes; shards are padded to
// the widest.
#include "model/parameter_shards.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/error.h"
#include "pipeline/stage.h"

namespace roll {

namespace {

/// Returns shard `rank` of `count` units, each of `unit` rows, split as evenly as whole numbers allow.
TensorShard even_part(int64_t dim, int64_t count, int64_t unit, int64_t rank, int64_t size) {
  const int64_t units_per_rank = count / size, remainder = count % size;
  const int64_t begin = rank * units_per_rank + std::min(rank, remainder);
  return {.dim = dim, .begin = begin * unit, .end = (begin + units_per_rank + (rank < remainder)) * unit};
}

at::Tensor narrowed(const at::Tensor& whole, const TensorShard& part) {
  return part.dim < 0 ? whole : whole.narrow(part.dim, part.begin, part.end - part.begin);
}

}  // namespace

at::Tensor bit_sum(const at::Tensor& tensor) {
  if (tensor.is_meta()) return at::zeros({}, at::kLong);
  const at::ScalarType bits = tensor.element_size() == 1   ? at::kChar
                              : tensor.element_size() == 2 ? at::kShort
                              : tensor.element_size() == 4 ? at::kInt
                                                           : at::kLong;
  return tensor.detach().contiguous().view(bits).sum(at::kLong);
}

TensorShard make_tensor_shard(const Cut& cut, int64_t rank, int64_t size) {
  if (cut.dim < 0) return {.copies = size};
  if (size <= cut.count) return even_part(cut.dim, cut.count, cut.width, rank, size);
  const int64_t copies = size / cut.count, unit = rank / copies;
  return {.dim = cut.dim, .begin = unit * cut.width, .end = (unit + 1) * cut.width, .copies = copies};
}

TensorShard vocabulary_shard(const ModelSpec& spec, int64_t rank, int64_t size) {
  return make_tensor_shard(vocabulary_cut(spec), rank, size);
}

std::string tensor_parallel_rule(const ModelSpec& spec, int64_t tp) {
  for (const Layer& layer : spec.layers())
    for (const Block& block : layer) {
      const auto rule = std::visit([tp](const auto& mixer) { return mixer.sharing_rule(tp); }, block.mixer);
      if (!rule.empty()) return rule;
    }
  const bool has_blocks = tp > 1 && spec.quantised == Quantisation::kNf4;
  for (const ParameterShape& parameter : has_blocks ? backbone_parameters(spec) : std::vector<ParameterShape>())
    if (parameter.quantised == Quantisation::kNf4) {
      const int64_t inputs = parameter.shape[1];
      if (inputs % kNf4Block != 0 || (parameter.cut.dim == 1 && inputs / kNf4Block % tp != 0))
        return fmt::format("must leave each rank whole nf4 blocks, of {} inputs each, of the {} inputs of {}",
                           kNf4Block, inputs, parameter.name);
    }
  return tp <= spec.vocab_size ? ""
                               : fmt::format("must be at most {}, the size of the model's vocabulary", spec.vocab_size);
}

ParameterShards::ParameterShards(const ModelSpec& spec, const std::vector<ParameterShape>& whole, Communicator* tp,
                                 Communicator* ep, std::shared_ptr<PipelineStage> stage)
    : tp_(tp), ep_(ep), stage_(std::move(stage)) {
  ROLL_CHECK_EQ(tensor_parallel_rule(spec, size()), "", "the configuration was checked");
  int64_t local_index = 0;
  for (int64_t number = 0; const ParameterShape& parameter : whole) {
    ++number;
    has_mtp_ |= parameter.is_mtp;
    if (!parameter.fused.name.empty()) in_tensors_[parameter.fused.name] = parameter.name;
    for (const ParameterShape& stored : stored_shapes(parameter)) {
      Entry& entry = entries_[stored.name];
      entry.shape = stored.shape;
      entry.expert = parameter.expert;
      entry.layer = parameter.layer;
      entry.is_constant = parameter.is_constant;
      entry.is_projection = parameter.is_projection;
      entry.is_mtp = parameter.is_mtp;
      entry.is_at_both_ends = parameter.is_at_both_ends;
      for (int64_t rank = 0; rank < size(); ++rank) entry.parts.push_back(make_tensor_shard(stored.cut, rank, size()));
      entry.number = number;
      order_.push_back(stored.name);
      if (spec.lora && !parameter.is_adapter) continue;
      local_indices_.push_back(local_index);
      local_index += !is_elsewhere(stored.name);
    }
  }
}

const ParameterShards::Entry& ParameterShards::entry(const std::string& name) const {
  const auto found = entries_.find(name);
  ROLL_CHECK(found != entries_.end(), fmt::format("{} is a parameter of the model", name));
  return found->second;
}

bool ParameterShards::is_elsewhere(const std::string& name) const {
  const auto tensor = in_tensors_.find(name);
  const auto found = entries_.find(tensor == in_tensors_.end() ? name : tensor->second);
  if (found == entries_.end()) return false;
  const Entry& e = found->second;
  if (stage_ && !belongs_to_stage(e) && !(e.is_at_both_ends && stage_->is_last())) return true;
  return ep_ && e.expert && e.expert->owner(ep_->size()) != ep_->rank();
}

bool ParameterShards::belongs_to_stage(const Entry& e) const {
  return !stage_ || stage_->has(e.layer);
}

const TensorShard& ParameterShards::part(const std::string& name) const {
  return entry(name).parts[static_cast<size_t>(rank())];
}

at::Tensor ParameterShards::cut(const std::string& name, const at::Tensor& whole) const {
  return narrowed(whole, part(name));
}

at::Tensor ParameterShards::gather(const std::string& name, const at::Tensor& local) const {
  const Entry& e = entry(name);
  const TensorShard& shard = part(name);
  if (is_whole() || shard.dim < 0) return local.detach();
  int64_t widest = 0;
  for (const TensorShard& p : e.parts) widest = std::max(widest, p.end - p.begin);
  const at::Tensor rows = local.detach().transpose(0, shard.dim);
  std::vector<int64_t> shape = rows.sizes().vec();
  shape[0] = widest;
  const at::Tensor padded = at::zeros(shape, rows.options());
  padded.narrow(0, 0, rows.size(0)).copy_(rows);
  const std::vector<at::Tensor> all = tp_->all_gather(padded, name);
  std::vector<at::Tensor> parts;
  for (size_t r = 0; r < all.size(); r += static_cast<size_t>(shard.copies))
    parts.push_back(all[r].narrow(0, 0, e.parts[r].end - e.parts[r].begin));
  return at::cat(parts).transpose(0, shard.dim).contiguous();
}

NamedTensors ParameterShards::gather_all(const NamedTensors& local, bool keep) const {
  const std::map<std::string, at::Tensor> local_tensors(local.begin(), local.end());
  const bool shares_experts =
      ep_ && std::ranges::any_of(local, [&](const auto& named) { return is_of_expert(named.first); });
  const std::vector<int64_t> dtypes = stage_ || shares_experts ? gather_dtypes(local_tensors) : std::vector<int64_t>();
  NamedTensors whole;
  for (size_t i = 0; i < order_.size(); ++i) {
    const std::string& name = order_[i];
    const Entry& e = entry(name);
    const auto found = local_tensors.find(name);
    const bool is_local = found != local_tensors.end() && belongs_to_stage(e);
    const bool is_shared = shares_experts && e.expert && belongs_to_stage(e);
    if (dtypes.empty() ? !is_local : dtypes[i] == kNobodyHasIt) continue;
    at::Tensor gathered = is_local ? gather(name, found->second) : at::Tensor();
    const auto from_owner = [&](Communicator& ranks, int64_t owner) {
      if (!gathered.defined()) {
        const at::TensorOptions options = local.front().second.options().requires_grad(false);
        gathered = at::empty(e.shape, options.dtype(static_cast<at::ScalarType>(dtypes[i])));
      }
      gathered = gathered.contiguous();
      ranks.broadcast(gathered, static_cast<int>(owner), name);
    };
    if (is_shared) from_owner(*ep_, e.expert->owner(ep_->size()));
    if (stage_) from_owner(stage_->ranks(), stage_->split().layer_stage(e.layer));
    if (keep) whole.emplace_back(name, gathered.to(at::kCPU));
  }
  return whole;
}

std::vector<int64_t> ParameterShards::gather_dtypes(const std::map<std::string, at::Tensor>& local) const {
  at::Tensor known = at::empty({std::ssize(order_)}, at::kLong);
  std::ranges::transform(order_, known.mutable_data_ptr<int64_t>(), [&](const std::string& name) {
    const auto found = local.find(name);
    return found == local.end() ? kNobodyHasIt : static_cast<int64_t>(found->second.scalar_type());
  });
  if (stage_) stage_->ranks().all_reduce_max(known, "dtypes of parameters");
  if (ep_) ep_->all_reduce_max(known, "dtypes of parameters");
  const auto* const begin = known.const_data_ptr<int64_t>();
  return {begin, begin + known.numel()};
}

int64_t ParameterShards::count_copies(const std::string& name) const {
  return part(name).copies * (stage_ && entry(name).is_at_both_ends ? 2 : 1);
}

void ParameterShards::sum_copies(const std::string& name, at::Tensor& gradient) const {
  const TensorShard& shard = part(name);
  if (stage_ && entry(name).is_at_both_ends) stage_->ends().all_reduce_sum(gradient, name);
  if (shard.copies == 1) return;
  if (shard.dim < 0) return tp_->all_reduce_sum(gradient, name);
  // Each head's gradient goes to its own rows, so that one collective serves all groups of copies.
  at::Tensor whole = at::zeros(entry(name).shape, gradient.options());
  narrowed(whole, shard).copy_(gradient);
  tp_->all_reduce_sum(whole, name);
  gradient.copy_(narrowed(whole, shard));
}

int64_t ParameterShards::checksum(const NamedTensors& local) const {
  constexpr int64_t kFold = (int64_t{1} << 48) - 1;  // the sum over all ranks fits in 64 bits
  // The sums stay on the device, so that the host waits once and not per tensor.
  at::Tensor sum = at::zeros({}, at::kLong), expert_sum = at::zeros({}, at::kLong);
  for (const auto& [name, tensor] : local)
    if (!tensor.is_meta() && !is_mtp(name) && rank() % part(name).copies == 0 && belongs_to_stage(entry(name))) {
      at::Tensor& into = is_of_expert(name) ? expert_sum : sum;
      into = into.to(tensor.device()) + bit_sum(tensor);
    }
  int64_t experts = expert_sum.item<int64_t>() & kFold;
  if (ep_) experts = ep_->all_reduce_sum(experts, "checksum of the experts");
  int64_t folded = ((sum.item<int64_t>() & kFold) + experts) & kFold;
  if (stage_) folded = stage_->ranks().all_reduce_sum(folded, "checksum of the stages") & kFold;
  if (!is_whole()) folded = tp_->all_reduce_sum(folded, "checksum of the weights");
  return folded & kFold;
}

}  // namespace roll
