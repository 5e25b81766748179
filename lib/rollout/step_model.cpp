#include "rollout/step_model.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "model/transformer.h"

namespace roll {

namespace {

class TransformerSteps : public StepModel {
 public:
  TransformerSteps(const Transformer& model, int64_t num_slots, int64_t max_length)
      : model_(model), cache_(model.cache_spec(), num_slots, max_length, model.dtype(), model.device()) {}

  int64_t num_slots() const override { return cache_.num_slots(); }
  int64_t max_length() const override { return cache_.max_length(); }
  int64_t vocab_size() const override { return model_.spec().vocab_size; }

  at::Tensor prefill(const std::vector<std::vector<int64_t>>& prompts, std::span<const int64_t> slots) override {
    const at::NoGradGuard no_grad;
    const PackedTokens packed = pack_tokens(prompts, model_.device());
    return logits(model_.prefill(packed, cache_, {slots.data(), slots.size()}));
  }

  void copy_prefix(int64_t from, int64_t length, std::span<const int64_t> to) override {
    const int64_t grown = cache_.length(from);
    cache_.set_length(from, length);
    cache_.copy_slot(from, {to.data(), to.size()});
    cache_.set_length(from, grown);
  }

  at::Tensor decode(std::span<const int64_t> ids, std::span<const int64_t> slots) override {
    const at::NoGradGuard no_grad;
    const at::Tensor tokens = at::tensor(at::IntArrayRef(ids.data(), ids.size()), at::kLong).to(model_.device());
    return logits(model_.decode(tokens, cache_, {slots.data(), slots.size()}));
  }

  void release(int64_t slot) override { cache_.release(slot); }
  Communicator* ranks() const override { return model_.parallel().tp_size() > 1 ? model_.parallel().tp : nullptr; }

 private:
  at::Tensor logits(const at::Tensor& hidden) const { return model_.logits(hidden).to(at::kCPU).contiguous(); }

  const Transformer& model_;
  KvCache cache_;
};

}  // namespace

std::unique_ptr<StepModel> make_step_model(const Transformer& model, const StepModelLimits& limits) {
  const int64_t slot_bytes = KvCache::bytes(model.cache_spec(), 1, limits.max_length, model.dtype());
  int64_t num_slots = limits.num_slots;
  if (limits.kv_cache_bytes > 0) num_slots = std::min(num_slots, limits.kv_cache_bytes / slot_bytes);
  if (num_slots < 1) {
    throw user_error(
        "the KV cache of one sequence of {} tokens takes {} MiB, the budget is {} MiB; shorten the responses or raise "
        "it",
        limits.max_length, slot_bytes >> 20, limits.kv_cache_bytes >> 20);
  }
  return std::make_unique<TransformerSteps>(model, num_slots, limits.max_length);
}

}  // namespace roll
