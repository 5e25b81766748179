#include "packing/shared_prompts.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "packing/alignment.h"

namespace roll {

namespace {

constexpr double kWorthwhile = 0.05;  // share of the work

}  // namespace

SequenceSizes SequenceSizes::select(const std::vector<int64_t>& indices) const {
  const auto pick = [&](const std::vector<int64_t>& values) {
    std::vector<int64_t> picked;
    for (size_t i = 0; i < indices.size() && !values.empty(); ++i) picked.push_back(values[indices[i]]);
    return picked;
  };
  SequenceSizes selected{pick(lengths), pick(groups), pick(prompts)};
  for (size_t i = 0; i < indices.size() && !contexts.empty(); ++i) selected.contexts.push_back(contexts[indices[i]]);
  return selected;
}

int64_t SequenceSizes::aligned(int64_t sequence, int64_t alignment) const {
  if (contexts.empty()) return aligned_length(lengths[sequence], alignment);
  int64_t total = 0;
  for (const int64_t length : contexts[sequence]) total += aligned_length(length, alignment);
  return total;
}

double SequenceSizes::work(int64_t sequence, const Workload& workload) const {
  if (contexts.empty()) return workload(lengths[sequence]);
  double total = 0;
  for (const int64_t length : contexts[sequence]) total += workload(length);
  return total;
}

PlannedItems plan_items(const SequenceSizes& sizes, const PackOptions& options) {
  ROLL_CHECK(options.budget >= 1 && options.alignment >= 1, "a budget holds tokens");
  PlannedItems items;
  for (int64_t i = 0; i < sizes.num_sequences(); ++i) {
    items.tokens.push_back(sizes.aligned(i, options.alignment));
    items.work.push_back(sizes.work(i, options.workload));
  }
  check_budget(items, sizes.lengths, options);
  return items;
}

int64_t shared_tokens(int64_t common, int64_t alignment) {
  return (common - 1) / alignment * alignment;
}

Load total_load(const SequenceSizes& sizes, const std::vector<int64_t>& sequences, int64_t alignment,
                const Workload& workload, bool shares) {
  Load load;
  std::map<int64_t, int64_t> prompts;  // tokens, by group
  for (const int64_t i : sequences) {
    load.tokens += sizes.lengths[i];
    load.aligned_tokens += sizes.aligned(i, alignment);
    load.work += sizes.work(i, workload);
    if (!shares || sizes.groups.empty()) continue;
    const auto [prompt, is_first] = prompts.try_emplace(sizes.groups[i], sizes.prompts[i]);
    if (is_first) continue;
    const int64_t shared = shared_tokens(std::min(prompt->second, sizes.prompts[i]), alignment);
    load.shared += shared;
    load.tokens -= shared;
    load.aligned_tokens -= shared;
    load.work -= workload(shared);
  }
  return load;
}

bool shares_prompts(const SequenceSizes& sizes, SharePrompts setting, int64_t alignment, const Workload& workload) {
  if (setting != SharePrompts::kAuto || sizes.groups.empty()) return setting == SharePrompts::kTrue;
  const std::vector<int64_t> all_sequences = first_numbers(std::ssize(sizes.lengths));
  const auto total_work = [&](bool shares) {
    return total_load(sizes, all_sequences, alignment, workload, shares).work;
  };
  return total_work(true) <= (1 - kWorthwhile) * total_work(false);
}

Partition cut_groups(const SequenceSizes& sizes, int64_t max_size, int64_t budget, int64_t alignment) {
  std::map<int64_t, std::vector<int64_t>> groups;
  for (int64_t i = 0; i < sizes.num_sequences(); ++i) groups[sizes.groups[i]].push_back(i);
  Partition all_pieces;
  for (const auto& [number, members] : groups) {
    const int64_t size = std::ssize(members);
    for (int64_t parts = (size + max_size - 1) / max_size;; ++parts) {
      Partition pieces;
      for (int64_t k = 0; k < parts; ++k)
        pieces.emplace_back(members.begin() + k * size / parts, members.begin() + (k + 1) * size / parts);
      const bool fits = budget == 0 || std::ranges::all_of(pieces, [&](const auto& piece) {
                          return total_load(sizes, piece, alignment, {}, true).aligned_tokens <= budget;
                        });
      if (!fits && parts < size) continue;
      std::ranges::move(pieces, std::back_inserter(all_pieces));
      break;
    }
  }
  return all_pieces;
}

}  // namespace roll
