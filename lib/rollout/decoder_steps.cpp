// StepModel over a Decoder, with state and draws on the host; and make_step_model(), which picks the implementation.
#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "decode/cpu_decoder.h"
#include "decode/decoder.h"
#include "decode/device_decoder.h"
#include "decode/expert_record.h"
#include "model/mixture.h"
#include "model/transformer.h"
#include "rollout/device_steps.h"
#include "rollout/slot_draws.h"
#include "rollout/step_model.h"
#include "rollout/step_times.h"

namespace roll {

namespace {

constexpr int64_t kRowsOnCpu = 512;  // per step: more would not fit the CPU caches between stages of a layer
constexpr int64_t kRowsOnDevice =
    2048;  // per step: enough for efficient GEMMs; buffers for all are allocated permanently

/// Returns the number of pages: enough for all slots at full length, or as many as the limits allow.
int64_t count_pages(const Transformer& model, const EngineLimits& limits) {
  const int64_t recorded = limits.records_experts ? choices_per_token(model.spec()) : 0;
  const int64_t bytes_per_page = page_bytes(model, limits.page_size) +
                                 limits.page_size * recorded * static_cast<int64_t>(sizeof(int16_t)),
                pages_per_sequence = pages_for(limits.max_length, limits.page_size);
  int64_t num_pages = limits.num_slots * pages_per_sequence;
  if (limits.kv_cache_bytes > 0) num_pages = std::min(num_pages, limits.kv_cache_bytes / bytes_per_page);
  if (limits.max_pages > 0) num_pages = std::min(num_pages, limits.max_pages);
  if (num_pages >= pages_per_sequence) return num_pages;
  throw user_error(
      "the KV cache of one sequence of {} tokens needs {} pages ({} MiB), but there are only {}; shorten the "
      "responses, or allow more memory or pages",
      limits.max_length, pages_per_sequence, pages_per_sequence * bytes_per_page >> 20, num_pages);
}

int64_t count_rows(const Transformer& model, const EngineLimits& limits) {
  const int64_t row_limit = model.device().is_cpu() ? kRowsOnCpu : kRowsOnDevice;
  return std::max(limits.num_slots, std::min(limits.max_rows, row_limit));
}

DecoderSizes decoder_sizes(const Transformer& model, const EngineLimits& limits) {
  return {.page_size = limits.page_size,
          .num_pages = count_pages(model, limits),
          .max_length = limits.max_length,
          .max_rows = count_rows(model, limits),
          .weight_bits = limits.weight_bits,
          .records_experts = limits.records_experts};
}

bool runs_on_device(const Transformer& model) {
  return model.device().is_cuda() && has_device_kernels(model);
}

/// Returns null (no CUDA graphs) if tensor-parallel ranks communicate through the host, as ranks that share a GPU do.
std::unique_ptr<GraphRecorder> make_recorder(const Transformer& model) {
  const bool is_free = model.parallel().tp_size() == 1 || model.parallel().tp->kind() == "nccl";
  return is_free ? make_graph_recorder(model.device()) : nullptr;
}

class DecoderSteps : public StepModel {
 public:
  DecoderSteps(const Transformer& model, const EngineLimits& limits)
      : sizes_(decoder_sizes(model, limits)),
        decoder_(make_decoder(model, sizes_)),
        slot_draws_(limits.num_slots, model.spec().vocab_size,
                    model.parallel().tp_size() > 1 ? model.parallel().tp : nullptr),
        vocab_size_(model.spec().vocab_size),
        // A delta net's page holds the state behind its last token, which a wrong guess would change.
        takes_guesses_(has_cpu_decoder(model) && !model.spec().delta),
        measures_time_(model.parallel().tp_size() == 1),  // times differ between ranks
        slots_(limits.num_slots) {
    for (Slot& slot : slots_) slot.pages.resize(pages_for(limits.max_length, limits.page_size));
  }

  int64_t num_slots() const override { return std::ssize(slots_); }
  int64_t num_pages() const override { return sizes_.num_pages; }
  int64_t page_size() const override { return sizes_.page_size; }
  int64_t max_length() const override { return sizes_.max_length; }
  int64_t max_rows() const override { return sizes_.max_rows; }
  int64_t vocab_size() const override { return vocab_size_; }

  void seat(int64_t slot, const Seat& seat) override {
    slots_[slot].length = std::ssize(seat.prompt) + std::ssize(seat.drawn);
    slot_draws_.seat(slot, seat);
  }

  void set_pages(int64_t slot, int64_t first, std::span<const int32_t> pages) override {
    std::ranges::copy(pages, slots_[slot].pages.begin() + first);
  }

  void launch(const StepPlan& plan) override {
    for (const auto& [from, to] : plan.copies) decoder_->copy_page(from, to);
    rows_.clear();
    logit_rows_.clear();
    draws_.clear();
    const Stopwatch watch;
    for (const PromptPiece& piece : plan.pieces) add_piece(piece);
    for (const DecodingSlot& decoding : plan.decoding) add_decoding(decoding);
    const LogitRows logits = decoder_->run(rows_, logit_rows_);
    drawn_ = slot_draws_.draw(draws_, logits);
    for (const Drawn& drawn : drawn_) ++slots_[drawn.slot].length;
    if (plan.pieces.empty() && measures_time_) times_.add(std::ssize(rows_), watch.seconds());
  }

  std::vector<Drawn> collect() override { return std::move(drawn_); }

  bool takes_guesses() const override { return takes_guesses_; }
  double fixed_rows() const override { return times_.fixed_rows(); }

  std::vector<int16_t> routed_experts(std::span<const int32_t> pages, int64_t length) const override {
    return decoder_->experts().sequence_experts(pages.data(), length);
  }

 private:
  struct Slot {
    int64_t length = 0;  // known tokens: prompt and drawn ones
    std::vector<int32_t> pages;
  };

  void add_piece(const PromptPiece& piece) {
    for (int64_t i = 0; i < std::ssize(piece.ids); ++i)
      rows_.push_back({.token = piece.ids[i], .position = piece.begin + i, .pages = slots_[piece.slot].pages.data()});
    if (piece.draws.empty()) return;
    for (const int64_t slot : piece.draws) draws_.push_back({.slot = slot, .row = std::ssize(logit_rows_)});
    logit_rows_.push_back(std::ssize(rows_) - 1);
  }

  void add_decoding(const DecodingSlot& decoding) {
    const Slot& slot = slots_[decoding.slot];
    draws_.push_back({.slot = decoding.slot, .row = std::ssize(logit_rows_), .guesses = decoding.guesses});
    const auto add_row = [&](int64_t token, int64_t position) {
      logit_rows_.push_back(std::ssize(rows_));
      rows_.push_back({.token = token, .position = position, .pages = slot.pages.data()});
    };
    add_row(slot_draws_.last_token(decoding.slot), slot.length - 1);
    for (int64_t i = 0; i < std::ssize(decoding.guesses); ++i) add_row(decoding.guesses[i], slot.length + i);
  }

  DecoderSizes sizes_;
  std::unique_ptr<Decoder> decoder_;
  SlotDraws slot_draws_;
  int64_t vocab_size_;
  bool takes_guesses_, measures_time_;
  std::vector<Slot> slots_;
  StepTimes times_;

  // State of the current step.
  std::vector<DecoderRow> rows_;
  std::vector<int64_t> logit_rows_;  // rows whose logits are needed
  std::vector<SlotDraw> draws_;      // refers to the guesses of the plan
  std::vector<Drawn> drawn_;
};

}  // namespace

std::unique_ptr<StepModel> make_step_model(const Transformer& model, const EngineLimits& requested) {
  EngineLimits limits = requested;
  limits.page_size = layer_cost(model.spec().layers(), model.parallel().tp_size())
                         .page_tokens(requested.page_size, static_cast<int64_t>(at::elementSize(model.dtype())));
  if (limits.weight_bits > 0 && !has_cpu_decoder(model))
    throw user_error("dtype = int{0}: only a sampler on the CPU reads weights in {0} bits; on {1} use fp32 or bf16",
                     limits.weight_bits, model.device().str());
  if (runs_on_device(model))
    return make_device_steps(model, decoder_sizes(model, limits), limits.num_slots, make_cuda_launcher(model.device()),
                             make_recorder(model));
  return std::make_unique<DecoderSteps>(model, limits);
}

bool draws_on_host(const Transformer& model) {
  return !runs_on_device(model);
}

int64_t step_model_bytes(const Transformer& model, const EngineLimits& limits) {
  if (!runs_on_device(model)) return 0;
  return device_decoder_bytes(model, count_rows(model, limits), limits.num_slots, count_processors(model.device())) +
         kRecorderBytes;
}

}  // namespace roll
