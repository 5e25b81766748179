#include "decode/device_draws.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "decode/rows.h"

namespace roll {

DeviceDraws::DeviceDraws(const Transformer& model, const RowWidths& widths, int64_t num_slots, KernelLauncher& launcher)
    : launcher_(launcher),
      tp_(model.parallel().tp_size() > 1 ? model.parallel().tp : nullptr),
      vocab_size_(model.spec().vocab_size),
      head_(plain(model.head_weight())) {
  const auto options = at::TensorOptions().device(model.device());
  const int64_t tp = model.parallel().tp_size(), max_draws = ceil_quotient(num_slots, tp);  // rows per rank
  logits_ = launcher.empty({tp * max_draws, widths.vocab}, options.dtype(at::kFloat));
  if (tp_) gathered_logits_ = launcher.empty(logits_.sizes(), options.dtype(at::kFloat));
  scratch_ = launcher.empty({max_draws * static_cast<int64_t>(sizeof(RowScratch))}, options.dtype(at::kByte));
}

at::Tensor DeviceDraws::make_drawn() const {
  return at::zeros({logits_.size(0) * static_cast<int64_t>(sizeof(DrawnToken))}, scratch_.options());
}

void DeviceDraws::draw(const at::Tensor& head_input, int64_t num_draws, const StepMemory& memory) {
  launcher_.multiply(first_rows(logits_, num_draws).narrow(1, 0, head_.size(0)), head_input, head_);
  if (tp_)
    draw_share(num_draws, memory);
  else
    sample(logits_, num_draws, 0, num_draws, memory);
}

/// Each tensor-parallel rank holds a vocabulary shard of all rows and draws for a share of the rows: an all-to-all
/// brings the other shards of these rows, an all-gather the tokens that other ranks drew.
void DeviceDraws::draw_share(int64_t num_draws, const StepMemory& memory) {
  const int64_t tp = tp_->size(), share = ceil_quotient(num_draws, tp), first = tp_->rank() * share;
  const at::Tensor gathered_logits = first_rows(gathered_logits_, tp * share);  // [tp, share, vocabulary of a rank]
  tp_->start_all_to_all(first_rows(logits_, tp * share), gathered_logits, "logits")->wait();
  if (first < num_draws) sample(gathered_logits, share, first, std::min(share, num_draws - first), memory);
  const auto bytes = static_cast<int64_t>(sizeof(DrawnToken));
  const at::Tensor drawn = memory.drawn.narrow(0, 0, tp * share * bytes);
  tp_->start_all_gather(drawn.narrow(0, first * bytes, share * bytes), drawn, "drawn tokens")->wait();
  launcher_.launch(AnyKernelOf<float>(AdvanceSlots{.draws = tensor_data<RowDraw>(memory.plan),
                                                   .drawn = tensor_data<DrawnToken>(drawn),
                                                   .slots = tensor_data<SlotState>(memory.slots),
                                                   .touched = tensor_data<TouchedToken>(memory.touched),
                                                   .touched_per_slot = memory.touched_per_slot,
                                                   .num_rows = num_draws}));
}

/// Runs `count` draws of the plan from `first` on. shard_rows: rows per vocabulary shard of `logits`.
void DeviceDraws::sample(const at::Tensor& logits, int64_t shard_rows, int64_t first, int64_t count,
                         const StepMemory& memory) {
  launcher_.launch(AnyKernelOf<float>(
      SampleRows{.logits = tensor_data<float>(logits),
                 .stride = logits_.stride(0),
                 .rows = count,
                 .shard_stride = shard_rows * logits_.stride(0),
                 .cut = cut_for(count, vocab_size_, tp_ ? tp_->size() : 1, launcher_.num_processors()),
                 .draws = tensor_data<RowDraw>(memory.plan) + first,
                 .slots = tensor_data<SlotState>(memory.slots),
                 .touched = tensor_data<TouchedToken>(memory.touched),
                 .original_logits = tensor_data<float>(memory.original_logits),
                 .touched_per_slot = memory.touched_per_slot,
                 .scratch = tensor_data<RowScratch>(scratch_),
                 .drawn = tensor_data<DrawnToken>(memory.drawn) + first,
                 .advances_slots = tp_ == nullptr}));
}

}  // namespace roll
