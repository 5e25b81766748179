#include "rollout/device_steps.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

#include "base/error.h"
#include "decode/device_decoder.h"
#include "device/graph_cache.h"
#include "model/transformer.h"
#include "rollout/row_sampling.h"

namespace roll {

namespace {

constexpr int64_t kMaxLaunches = 2;  // most launches in flight; each has its own host buffers

template <class T>
int64_t vector_bytes(const std::vector<T>& values) {
  return std::ssize(values) * static_cast<int64_t>(sizeof(T));
}

/// Allocates host memory for asynchronous copies; pinned for a GPU.
at::Tensor host_bytes(int64_t count, at::Device device) {
  return at::empty({count}, at::TensorOptions().dtype(at::kByte).pinned_memory(device.is_cuda()));
}

/// A device event; does nothing on the CPU, where all work is synchronous.
class DeviceEvent {
 public:
  explicit DeviceEvent(at::Device device) : device_(device) {
    if (!device.is_cpu()) event_.emplace(device.type());
  }
  void record() {
    if (event_) event_->record(c10::impl::VirtualGuardImpl(device_.type()).getStream(device_));
  }
  void wait() {
    if (event_) event_->synchronize();
  }

 private:
  at::Device device_;
  std::optional<c10::Event> event_;
};

class DeviceSteps : public StepModel {
 public:
  DeviceSteps(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots,
              std::unique_ptr<KernelLauncher> launcher, std::unique_ptr<GraphRecorder> recorder)
      : device_(model.device()),
        sizes_(sizes),
        num_slots_(num_slots),
        vocab_size_(model.spec().vocab_size),
        launcher_(std::move(launcher)),
        decoder_(make_device_decoder(model, sizes, num_slots, *launcher_)),
        graphs_(std::move(recorder)) {
    const int64_t plan_bytes = decoder_->memory().plan.numel(), drawn_bytes = decoder_->memory().drawn.numel();
    const int64_t update_bytes =
        static_cast<int64_t>(num_slots * sizeof(SlotSeat) + decoder_->memory().tables.numel() * sizeof(TableEntry) +
                             num_slots * sizeof(PageMove));
    for (int64_t i = 0; i < kMaxLaunches; ++i)
      buffers_.push_back({.plan = host_bytes(plan_bytes, device_),
                          .updates = host_bytes(update_bytes, device_),
                          .drawn = host_bytes(drawn_bytes, device_),
                          .is_done = DeviceEvent(device_)});
    updates_ = at::empty({update_bytes}, at::TensorOptions().dtype(at::kByte).device(device_));
  }

  /// Waits for the device, which may still use the buffers.
  ~DeviceSteps() override {
    try {
      wait_for_launched();
    } catch (...) {  // the next device call reports a failed launch
    }
  }

  int64_t num_slots() const override { return num_slots_; }
  int64_t num_pages() const override { return sizes_.num_pages; }
  int64_t page_size() const override { return sizes_.page_size; }
  int64_t max_length() const override { return sizes_.max_length; }
  int64_t max_rows() const override { return sizes_.max_rows; }
  int64_t vocab_size() const override { return vocab_size_; }
  int64_t depth() const override { return kMaxLaunches - 1; }

  void seat(int64_t slot, const Seat& seat) override {
    ROLL_CHECK(!seat.generating.constraint, "draws_on_host() said that constraints are not for this model");
    TokenHistory history(seat.generating, seat.prompt);
    for (const int64_t token : seat.drawn) history.add(token);
    SlotState state;
    state.sampling = row_sampling(seat.generating);
    state.name = plain_name(seat.name);
    state.length = static_cast<int32_t>(seat.prompt.size() + seat.drawn.size());
    state.num_touched = static_cast<int32_t>(history.touched().size());
    if (state.num_touched > 0 || state.sampling.is_counting) send_touched(slot, history.touched());
    seats_[slot] = {.state = state, .slot = slot};
  }

  void set_pages(int64_t slot, int64_t first, std::span<const int32_t> pages) override {
    for (const int32_t page : pages) entries_[{slot, first++}] = page;
  }

  void launch(const StepPlan& plan) override {
    ROLL_CHECK(std::ssize(launched_) < kMaxLaunches, "no more launches than the model wants");
    const at::NoGradGuard no_grad;
    Buffers& buffers = buffers_[num_launches_++ % kMaxLaunches];
    send_updates(plan, buffers);
    fill_rows(plan);
    launched_.push_back({.buffers = &buffers, .slots = {}});
    for (const RowDraw& draw : draws_)
      if (draw.slot >= 0) launched_.back().slots.push_back(draw.slot);
    send_plan(buffers);
    run(plan.pieces.empty());
    const int64_t drawn_bytes = std::ssize(draws_) * static_cast<int64_t>(sizeof(DrawnToken));
    buffers.drawn.narrow(0, 0, drawn_bytes).copy_(decoder_->memory().drawn.narrow(0, 0, drawn_bytes), true);
    buffers.is_done.record();
  }

  std::vector<Drawn> collect() override {
    const Launched launch = std::move(launched_.front());
    launched_.pop_front();
    launch.buffers->is_done.wait();
    const auto* const tokens = static_cast<const DrawnToken*>(launch.buffers->drawn.const_data_ptr());
    std::vector<Drawn> drawn;
    for (size_t i = 0; i < launch.slots.size(); ++i) {
      if (tokens[i].token < 0)
        throw SystemError("the model's logits are not finite numbers: its weights have diverged or are damaged");
      drawn.push_back({launch.slots[i], tokens[i].token, tokens[i].log_prob, tokens[i].processed_log_prob});
    }
    return drawn;
  }

  std::vector<int16_t> routed_experts(std::span<const int32_t> pages, int64_t length) const override {
    const at::Tensor& record = decoder_->memory().experts;
    if (!record.defined()) return {};
    const std::vector<int64_t> rows(pages.begin(), pages.begin() + pages_for(length, sizes_.page_size));
    const at::Tensor found = record.index_select(0, at::tensor(rows, at::kLong).to(device_));
    const at::Tensor experts = found.flatten(0, 1).narrow(0, 0, length).contiguous().cpu();
    const auto* const first = experts.const_data_ptr<int16_t>();
    return {first, first + experts.numel()};
  }

 private:
  struct Buffers {
    at::Tensor plan, updates, drawn;
    DeviceEvent is_done;
  };
  struct Launched {
    Buffers* buffers = nullptr;
    std::vector<int64_t> slots;  // slots that draw
  };

  void wait_for_launched() {
    for (const Launched& launch : launched_) launch.buffers->is_done.wait();
  }

  /// Sends the tokens with counts or biases. Device memory for them is allocated when a sequence first needs it.
  void send_touched(int64_t slot, std::span<const TouchedToken> touched) {
    StepMemory& memory = decoder_->memory();
    if (const int64_t needed = std::ssize(touched) + sizes_.max_length + 1; needed > memory.touched_per_slot) {
      const int64_t old = memory.touched_per_slot;
      const auto size = static_cast<int64_t>(sizeof(TouchedToken));
      const auto options = at::TensorOptions().device(device_);
      const at::Tensor grown = at::zeros({num_slots_, needed * size}, options.dtype(at::kByte));
      if (old > 0) grown.narrow(1, 0, old * size).copy_(memory.touched.view({num_slots_, old * size}));
      memory.touched = grown.view(-1);
      memory.original_logits = at::empty({num_slots_, needed}, options.dtype(at::kFloat));
      memory.touched_per_slot = needed;
      wait_for_launched();
      graphs_.clear();  // graphs hold the old addresses
    }
    if (touched.empty()) return;
    const auto bytes = static_cast<int64_t>(touched.size_bytes());
    const at::Tensor on_host = at::empty({bytes}, at::kByte);
    std::memcpy(on_host.mutable_data_ptr(), touched.data(), touched.size_bytes());
    const auto begin = slot * memory.touched_per_slot * static_cast<int64_t>(sizeof(TouchedToken));
    memory.touched.narrow(0, begin, bytes).copy_(on_host);
  }

  /// Sends seats, page copies and page-table entries in one transfer and applies them.
  void send_updates(const StepPlan& plan, Buffers& buffers) {
    std::vector<SlotSeat> seats;
    std::vector<TableEntry> entries;
    std::vector<PageMove> moves;
    for (const auto& [slot, seat] : seats_) seats.push_back(seat);
    for (const auto& [slot_and_index, page] : entries_)
      entries.push_back(
          {static_cast<int32_t>(slot_and_index.first), static_cast<int32_t>(slot_and_index.second), page});
    for (const auto& [from, to] : plan.copies) moves.push_back({from, to});
    seats_.clear(), entries_.clear();
    const int64_t moves_begin = vector_bytes(seats), entries_begin = moves_begin + vector_bytes(moves);
    const int64_t end = entries_begin + vector_bytes(entries);
    if (end == 0) return;
    ROLL_CHECK(end <= updates_.numel(), "a plan changes each slot and each of its pages once");
    auto* const bytes = static_cast<char*>(buffers.updates.mutable_data_ptr());
    std::ranges::copy(std::as_bytes(std::span(seats)), reinterpret_cast<std::byte*>(bytes));
    std::ranges::copy(std::as_bytes(std::span(moves)), reinterpret_cast<std::byte*>(bytes) + moves_begin);
    std::ranges::copy(std::as_bytes(std::span(entries)), reinterpret_cast<std::byte*>(bytes) + entries_begin);
    updates_.narrow(0, 0, end).copy_(buffers.updates.narrow(0, 0, end), true);
    const auto* const sent = static_cast<const char*>(updates_.const_data_ptr());
    decoder_->update({.seats = reinterpret_cast<const SlotSeat*>(sent),
                      .entries = reinterpret_cast<const TableEntry*>(sent + entries_begin),
                      .moves = reinterpret_cast<const PageMove*>(sent + moves_begin),
                      .num_seats = std::ssize(seats),
                      .num_entries = std::ssize(entries),
                      .num_moves = std::ssize(moves)});
  }

  /// Fills rows_ and draws_ from the plan; pads them if the step only decodes.
  void fill_rows(const StepPlan& plan) {
    rows_.clear(), draws_.clear();
    const auto add_draw = [&](int64_t slot, bool is_decoding) {
      draws_.push_back({.slot = static_cast<int32_t>(slot),
                        .is_decoding = is_decoding,
                        .row = static_cast<int32_t>(rows_.size()) - 1});
    };
    for (const PromptPiece& piece : plan.pieces) {
      for (int64_t i = 0; i < std::ssize(piece.ids); ++i)
        rows_.push_back({.token = static_cast<int32_t>(piece.ids[i]),
                         .position = static_cast<int32_t>(piece.begin + i),
                         .slot = static_cast<int32_t>(piece.slot)});
      for (const int64_t slot : piece.draws) add_draw(slot, false);
    }
    num_prompt_rows_ = std::ssize(rows_);
    for (const DecodingSlot& decoding : plan.decoding) {
      rows_.push_back({.token = -1, .position = 0, .slot = static_cast<int32_t>(decoding.slot)});
      add_draw(decoding.slot, true);
    }
    if (!plan.pieces.empty()) return;
    const auto padded = static_cast<size_t>(GraphCache::padded(std::ssize(rows_), num_slots_));
    rows_.resize(padded), draws_.resize(padded);
  }

  /// Sends rows_ and draws_, unless the device has the same from the previous step.
  void send_plan(Buffers& buffers) {
    const int64_t rows_begin = num_slots_ * static_cast<int64_t>(sizeof(RowDraw));
    std::vector<std::byte> bytes(static_cast<size_t>(rows_begin + vector_bytes(rows_)));
    std::ranges::copy(std::as_bytes(std::span(draws_)), bytes.begin());
    std::ranges::copy(std::as_bytes(std::span(rows_)), bytes.begin() + rows_begin);
    if (bytes == sent_plan_) return;
    std::ranges::copy(bytes, static_cast<std::byte*>(buffers.plan.mutable_data_ptr()));
    decoder_->memory().plan.narrow(0, 0, std::ssize(bytes)).copy_(buffers.plan.narrow(0, 0, std::ssize(bytes)), true);
    sent_plan_ = std::move(bytes);
  }

  void run(bool only_decodes) {
    const int64_t num_rows = std::ssize(rows_), num_draws = std::ssize(draws_);
    const auto work = [this, num_rows, num_prompt_rows = num_prompt_rows_, num_draws] {
      decoder_->run(num_rows, num_prompt_rows, num_draws);
    };
    only_decodes ? graphs_.run(num_rows, work) : work();
  }

  at::Device device_;
  DecoderSizes sizes_;
  int64_t num_slots_, vocab_size_;
  std::unique_ptr<KernelLauncher> launcher_;
  std::unique_ptr<DeviceDecoder> decoder_;
  std::vector<Buffers> buffers_;
  at::Tensor updates_;
  GraphCache graphs_;  // graphs of decode-only steps, by number of rows

  // Changes that were not sent to the device yet.
  std::map<int64_t, SlotSeat> seats_;
  std::map<std::pair<int64_t, int64_t>, int32_t> entries_;
  // State of the step being launched.
  std::vector<StepRow> rows_;
  int64_t num_prompt_rows_ = 0;
  std::vector<RowDraw> draws_;
  std::vector<std::byte> sent_plan_;
  int64_t num_launches_ = 0;
  std::deque<Launched> launched_;
};

}  // namespace

std::unique_ptr<StepModel> make_device_steps(const Transformer& model, const DecoderSizes& sizes, int64_t num_slots,
                                             std::unique_ptr<KernelLauncher> launcher,
                                             std::unique_ptr<GraphRecorder> recorder) {
  return std::make_unique<DeviceSteps>(model, sizes, num_slots, std::move(launcher), std::move(recorder));
}

}  // namespace roll
