#include "collect/sample_scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace roll {

void SampleScheduler::add(int64_t prompt, std::optional<double> expected_length, bool is_ahead) {
  prompts_.push_back({.prompt = prompt, .expected_length = expected_length, .is_ahead = is_ahead});
}

void SampleScheduler::drop(int64_t prompt) {
  std::erase_if(prompts_, [&](const Waiting& waiting) { return waiting.prompt == prompt; });
  std::erase_if(samples_, [&](const SampleIndex& sample) { return sample.prompt == prompt; });
}

SampleAssignment SampleScheduler::assign(std::vector<int64_t>& queues) {
  std::ranges::stable_sort(prompts_, {}, [](const Waiting& waiting) {
    return std::pair(waiting.is_ahead, -waiting.expected_length.value_or(std::numeric_limits<double>::infinity()));
  });
  SampleAssignment assignment(num_groups_);
  const auto assign_samples = [&](int64_t prompt, int64_t first_sample, int64_t count) {
    const auto group = std::ranges::min_element(queues) - queues.begin();
    for (int64_t i = first_sample; i < first_sample + count; ++i)
      assignment[group].push_back({.prompt = prompt, .number = i});
    queues[group] += count;
  };
  const int64_t num_assigned_whole = std::ssize(prompts_) / num_groups_ * num_groups_;
  for (int64_t i = 0; i < std::ssize(prompts_); ++i) {
    const int64_t samples_at_once = i < num_assigned_whole ? num_samples_ : 1;
    for (int64_t first_sample = 0; first_sample < num_samples_; first_sample += samples_at_once)
      assign_samples(prompts_[i].prompt, first_sample, samples_at_once);
  }
  for (const SampleIndex& sample : samples_) assign_samples(sample.prompt, sample.number, 1);
  prompts_.clear(), samples_.clear();
  return assignment;
}

int64_t num_to_put_back(std::span<const int64_t> queues, int64_t group) {
  const int64_t num_groups = std::ssize(queues);
  const int64_t num_idle_groups = std::ranges::count_if(queues, [](int64_t queue) { return queue < 0; });
  const int64_t waiting = std::max<int64_t>(0, queues[group]);
  return (waiting * num_idle_groups + num_groups - 1) / num_groups;
}

}  // namespace roll
