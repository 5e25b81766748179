// A StepModel whose logits are a pure function of the sequence so far, which it reads through its pages: a wrong table,
// copy or eviction gives another response. Like a device it runs launches in order and says later what they drew.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "rollout/sampler.h"
#include "rollout/slot_draws.h"
#include "rollout/step_model.h"

namespace roll {

struct FakeSizes {
  int64_t num_slots = 4, max_length = 60, vocab_size = 20;
  int64_t page_size = 4;
  int64_t num_pages = 0;  // 0: for all slots at their longest
  int64_t max_rows = 8192;
  int64_t depth = 0;
  bool takes_guesses = false;
};

class FakeModel : public StepModel {
 public:
  explicit FakeModel(const FakeSizes& sizes, Communicator* ranks = nullptr)
      : sizes_(sizes),
        draws_(sizes.num_slots, sizes.vocab_size, ranks),
        slots_(sizes.num_slots),
        pages_(num_pages(), std::vector<int64_t>(sizes.page_size, kUnwritten)) {}

  int64_t num_slots() const override { return sizes_.num_slots; }
  int64_t num_pages() const override {
    return sizes_.num_pages > 0 ? sizes_.num_pages : sizes_.num_slots * pages_for(sizes_.max_length, sizes_.page_size);
  }
  int64_t page_size() const override { return sizes_.page_size; }
  int64_t max_length() const override { return sizes_.max_length; }
  int64_t max_rows() const override { return sizes_.max_rows; }
  int64_t vocab_size() const override { return sizes_.vocab_size; }
  int64_t depth() const override { return sizes_.depth; }
  bool takes_guesses() const override { return sizes_.takes_guesses; }
  double fixed_rows() const override { return 16; }

  void seat(int64_t slot, const Seat& seat) override {
    slots_[slot] = {.length = std::ssize(seat.prompt) + std::ssize(seat.drawn), .pages = {}};
    draws_.seat(slot, seat);
  }

  void set_pages(int64_t slot, int64_t first, std::span<const int32_t> pages) override {
    auto& table = slots_.at(slot).pages;
    ROLL_CHECK_EQ(first, std::ssize(table), "pages are told once, in order");
    table.insert(table.end(), pages.begin(), pages.end());
  }

  void launch(const StepPlan& plan) override {
    int64_t rows = std::ssize(plan.decoding);
    for (const auto& [from, to] : plan.copies) pages_.at(to) = pages_.at(from);
    for (const PromptPiece& piece : plan.pieces) {
      for (size_t i = 0; i < piece.ids.size(); ++i)
        write(piece.slot, piece.begin + static_cast<int64_t>(i), piece.ids[i]);
      rows += std::ssize(piece.ids);
      prompt_tokens += std::ssize(piece.ids);
    }
    for (const auto& [slot, guesses] : plan.decoding) {
      write(slot, slots_[slot].length - 1, draws_.last_token(slot));
      for (size_t i = 0; i < guesses.size(); ++i)
        write(slot, slots_[slot].length + static_cast<int64_t>(i), guesses[i]);
      rows += std::ssize(guesses);
    }
    ROLL_CHECK(rows <= sizes_.max_rows, "a step has no more rows than it may");
    std::vector<SlotDraw> draws;
    std::vector<float> logits;
    const auto num_rows = [&] { return std::ssize(logits) / sizes_.vocab_size; };
    const auto add_row = [&](const std::vector<int64_t>& ids) {
      const std::vector<float> row = row_after(ids);
      logits.insert(logits.end(), row.begin(), row.end());
    };
    for (const PromptPiece& piece : plan.pieces)
      for (const int64_t slot : piece.draws) {
        draws.push_back({.slot = slot, .row = num_rows()});
        add_row(read(piece.slot, piece.begin + std::ssize(piece.ids)));
      }
    for (const auto& [slot, guesses] : plan.decoding) {
      draws.push_back({.slot = slot, .row = num_rows(), .guesses = guesses});
      for (int64_t i = 0; i <= std::ssize(guesses); ++i) add_row(read(slot, slots_[slot].length + i));
    }
    drawn_.push_back(draws_.draw(draws, {.data = logits.data(), .stride = sizes_.vocab_size}));
    for (const Drawn& drawn : drawn_.back()) ++slots_[drawn.slot].length;
    ROLL_CHECK(std::ssize(drawn_) <= sizes_.depth + 1, "no more launches than the model wants");
    ++num_steps;
    largest_step = std::max(largest_step, rows);
    most_decoding = std::max(most_decoding, std::ssize(plan.decoding));
  }

  std::vector<Drawn> collect() override {
    std::vector<Drawn> oldest = std::move(drawn_.front());
    drawn_.pop_front();
    return oldest;
  }

  /// The logits after `ids`: normal numbers named by a hash of all of them.
  virtual std::vector<float> row_after(const std::vector<int64_t>& ids) const {
    uint64_t hash = 1469598103934665603u;
    for (const int64_t id : ids) hash = (hash ^ static_cast<uint64_t>(id + 1)) * 1099511628211u;
    std::vector<float> row(sizes_.vocab_size);
    for (int64_t t = 0; t < sizes_.vocab_size; ++t)
      row[t] = static_cast<float>(
          1.5 * random_normal({.seed = hash, .purpose = Purpose::kInit, .position = static_cast<uint32_t>(t)}));
    return row;
  }

  int64_t num_steps = 0, prompt_tokens = 0, largest_step = 0, most_decoding = 0;

 private:
  static constexpr int64_t kUnwritten = -7;
  struct Slot {
    int64_t length = 0;
    std::vector<int32_t> pages;
  };

  int64_t& place(int64_t slot, int64_t position) {
    return pages_.at(slots_.at(slot).pages.at(position / sizes_.page_size)).at(position % sizes_.page_size);
  }
  void write(int64_t slot, int64_t position, int64_t token) {
    ROLL_CHECK(position < sizes_.max_length, "a slot may not overflow");
    ROLL_CHECK(token >= 0, "what is written was drawn, on every rank");
    place(slot, position) = token;
  }
  std::vector<int64_t> read(int64_t slot, int64_t length) {
    std::vector<int64_t> ids;
    for (int64_t position = 0; position < length; ++position) ids.push_back(place(slot, position));
    ROLL_CHECK(std::ranges::find(ids, kUnwritten) == ids.end(), "what is read was written");
    return ids;
  }

  FakeSizes sizes_;
  SlotDraws draws_;
  std::vector<Slot> slots_;
  std::vector<std::vector<int64_t>> pages_;
  std::deque<std::vector<Drawn>> drawn_;
};

/// Token 0 is "<e>" (special), the others are letters from 'a'.
inline std::string decode_letters(std::span<const int64_t> ids, bool skip_special) {
  std::string text;
  for (const int64_t id : ids) {
    if (id == 0)
      text += skip_special ? "" : "<e>";
    else
      text += static_cast<char>('a' + (id - 1) % 26);
  }
  return text;
}

/// With fresh pages and these letters.
inline std::vector<Generation> generate_with(StepModel& model, const std::vector<GenerationRequest>& requests,
                                             const SamplingParams& params, const OnGenerated& on_done = {},
                                             const SamplerHooks& hooks = {}) {
  PagePool pages(model.num_pages(), model.page_size());
  return generate(model, pages, decode_letters, requests, params, on_done, hooks);
}

}  // namespace roll
