// A StepModel whose logits are a pure function of the sequence so far, and which checks how it is used.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <map>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "rollout/step_model.h"

namespace roll {

class FakeModel : public StepModel {
 public:
  FakeModel(int64_t num_slots, int64_t max_length, int64_t vocab_size)
      : max_length_(max_length), vocab_size_(vocab_size), slots_(num_slots) {}

  int64_t num_slots() const override { return static_cast<int64_t>(slots_.size()); }
  int64_t max_length() const override { return max_length_; }
  int64_t vocab_size() const override { return vocab_size_; }

  at::Tensor prefill(const std::vector<std::vector<int64_t>>& prompts, std::span<const int64_t> slots) override {
    ROLL_CHECK_EQ(prompts.size(), slots.size(), "a slot per prompt");
    ++num_prefills;
    int64_t tokens = 0;
    for (const auto& prompt : prompts) tokens += static_cast<int64_t>(prompt.size());
    largest_prefill = std::max(largest_prefill, tokens);
    for (size_t b = 0; b < prompts.size(); ++b) {
      ROLL_CHECK(slots_.at(slots[b]).empty(), "prefill needs an empty slot");
      slots_[slots[b]] = prompts[b];
      prefilled_tokens += static_cast<int64_t>(prompts[b].size());
    }
    return logits(slots);
  }

  void copy_prefix(int64_t from, int64_t length, std::span<const int64_t> to) override {
    for (const int64_t slot : to) {
      ROLL_CHECK(slots_.at(slot).empty(), "copies need empty slots");
      slots_[slot].assign(slots_.at(from).begin(), slots_[from].begin() + length);
    }
  }

  at::Tensor decode(std::span<const int64_t> ids, std::span<const int64_t> slots) override {
    ++num_decodes;
    most_running = std::max(most_running, static_cast<int64_t>(slots.size()));
    for (size_t b = 0; b < slots.size(); ++b) {
      ROLL_CHECK(!slots_.at(slots[b]).empty(), "decode needs a filled slot");
      slots_[slots[b]].push_back(ids[b]);
      ROLL_CHECK(static_cast<int64_t>(slots_[slots[b]].size()) <= max_length_, "a slot may not overflow");
    }
    return logits(slots);
  }

  void release(int64_t slot) override {
    ROLL_CHECK(!slots_.at(slot).empty(), "a slot is released once");
    slots_[slot].clear();
  }

  /// The logits after `ids`: normal numbers named by a hash of all of them.
  std::vector<float> logits_after(const std::vector<int64_t>& ids) const {
    uint64_t hash = 1469598103934665603u;
    for (const int64_t id : ids) hash = (hash ^ static_cast<uint64_t>(id + 1)) * 1099511628211u;
    std::vector<float> row(vocab_size_);
    for (int64_t t = 0; t < vocab_size_; ++t)
      row[t] = static_cast<float>(
          1.5 * random_normal({.seed = hash, .purpose = Purpose::kInit, .position = static_cast<uint32_t>(t)}));
    return row;
  }

  bool all_released() const {
    for (const auto& slot : slots_)
      if (!slot.empty()) return false;
    return true;
  }

  int64_t num_prefills = 0, num_decodes = 0, prefilled_tokens = 0, largest_prefill = 0, most_running = 0;

 private:
  at::Tensor logits(std::span<const int64_t> slots) const {
    at::Tensor all = at::empty({static_cast<int64_t>(slots.size()), vocab_size_}, at::kFloat);
    for (size_t b = 0; b < slots.size(); ++b) {
      const auto row = logits_after(slots_[slots[b]]);
      std::copy(row.begin(), row.end(), all.data_ptr<float>() + static_cast<int64_t>(b) * vocab_size_);
    }
    return all;
  }

  int64_t max_length_, vocab_size_;
  std::vector<std::vector<int64_t>> slots_;
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

}  // namespace roll
