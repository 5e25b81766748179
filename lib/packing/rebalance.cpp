#include "packing/rebalance.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

namespace roll {
namespace {

constexpr double kEvenEnough = 1e-4;  // less would not visibly shorten an update
constexpr size_t kMaxPartners = 8;    // parts tried as partners of the giving part; limits the time for large batches

/// Item `out` moves from part `from` to part `to`; `back`, if any, moves in exchange.
struct Step {
  size_t from, to;
  int64_t out;
  std::optional<int64_t> back;
};

void remove_item(std::vector<int64_t>& part, int64_t item) {
  part.erase(std::find(part.begin(), part.end(), item));
}

void apply(Partition& parts, const Step& step) {
  remove_item(parts[step.from], step.out);
  parts[step.to].push_back(step.out);
  if (!step.back) return;
  remove_item(parts[step.to], *step.back);
  parts[step.from].push_back(*step.back);
}

/// Returns the parts except `giver`, smallest load first, at most kPartners.
template <class T>
std::vector<size_t> partners(const std::vector<T>& loads, size_t giver) {
  std::vector<size_t> order(loads.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + static_cast<int64_t>(giver));
  const size_t n = std::min(order.size(), kMaxPartners);
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(n), order.end(), [&](size_t a, size_t b) {
    if (loads[a] != loads[b]) return loads[a] < loads[b];
    return a < b;
  });
  order.resize(n);
  return order;
}

/// Returns the step out of an overfull part that leaves the least overflow; nullopt if none lowers it.
std::optional<Step> best_repair(const Partition& parts, const std::vector<int64_t>& tokens,
                                const std::vector<int64_t>& loads, size_t from, int64_t budget) {
  std::optional<Step> best;
  int64_t best_drop = 0, best_room = 0;
  const auto consider = [&](size_t to, int64_t out, std::optional<int64_t> back) {
    const int64_t moved = tokens[out] - (back ? tokens[*back] : 0);
    if (moved <= 0 || loads[to] + moved > budget) return;
    const int64_t drop = std::min(moved, loads[from] - budget);  // a drop beyond the overflow is useless
    const int64_t room = -moved;                                 // among equal drops, the smallest move
    if (drop > best_drop || (drop == best_drop && room > best_room)) {
      best = Step{from, to, out, back};
      best_drop = drop;
      best_room = room;
    }
  };
  for (const size_t to : partners(loads, from)) {
    for (const int64_t out : parts[from]) {
      consider(to, out, std::nullopt);
      for (const int64_t back : parts[to]) consider(to, out, back);
    }
  }
  return best;
}

/// The parts' loads, for the search for an evening step.
struct Loads {
  std::vector<double> work;
  std::vector<int64_t> tokens;
};

/// Returns a part's items sorted by weight, for binary search.
std::vector<int64_t> sorted_by_weight(std::vector<int64_t> part, const std::vector<double>& weights) {
  std::sort(part.begin(), part.end(), [&](int64_t a, int64_t b) {
    if (weights[a] != weights[b]) return weights[a] < weights[b];
    return a < b;
  });
  return part;
}

/// Finds the step from the heaviest part that minimises the heavier of the two parts.
class EveningSearch {
 public:
  EveningSearch(const Partition& parts, const std::vector<double>& weights, const std::vector<int64_t>& tokens,
                const Loads& loads, int64_t budget, bool moves)
      : parts_(parts), weights_(weights), tokens_(tokens), loads_(loads), budget_(budget), moves_(moves) {}

  std::optional<Step> find_best_step(size_t heaviest) {
    best_peak_ = loads_.work[heaviest] * (1 - 1e-12);  // rounding is no gain
    for (const size_t to : partners(loads_.work, heaviest)) {
      const std::vector<int64_t> candidates = sorted_by_weight(parts_[to], weights_);
      for (const int64_t out : parts_[heaviest]) {
        if (moves_) consider({heaviest, to, out, std::nullopt});
        consider_swaps(heaviest, to, out, candidates);
      }
    }
    return best_;
  }

 private:
  /// Tries swaps whose difference is nearest to half the gap, the optimum.
  void consider_swaps(size_t heaviest, size_t to, int64_t out, const std::vector<int64_t>& candidates) {
    const double wanted_weight = weights_[out] - (loads_.work[heaviest] - loads_.work[to]) / 2;
    const auto nearest = std::lower_bound(candidates.begin(), candidates.end(), wanted_weight,
                                          [&](int64_t i, double weight) { return weights_[i] < weight; });
    const auto first = nearest - std::min<int64_t>(2, nearest - candidates.begin());
    const auto last = nearest + std::min<int64_t>(2, candidates.end() - nearest);
    for (auto back = first; back != last; ++back) consider({heaviest, to, out, *back});
  }

  void consider(const Step& step) {
    const double moved = weights_[step.out] - (step.back ? weights_[*step.back] : 0);
    const int64_t moved_tokens = tokens_[step.out] - (step.back ? tokens_[*step.back] : 0);
    if (loads_.tokens[step.to] + moved_tokens > budget_ || loads_.tokens[step.from] - moved_tokens > budget_) return;
    const double peak = std::max(loads_.work[step.from] - moved, loads_.work[step.to] + moved);
    if (peak >= best_peak_) return;
    best_peak_ = peak;
    best_ = step;
  }

  const Partition& parts_;
  const std::vector<double>& weights_;
  const std::vector<int64_t>& tokens_;
  const Loads& loads_;
  int64_t budget_;
  bool moves_;
  double best_peak_ = 0;
  std::optional<Step> best_;
};

void even_out_with(Partition& parts, const std::vector<double>& weights, const std::vector<int64_t>& tokens,
                   int64_t budget, bool moves) {
  Loads loads;
  for (const auto& part : parts) {
    loads.work.push_back(part_sum(part, weights));
    loads.tokens.push_back(part_sum(part, tokens));
  }
  const double mean = std::accumulate(loads.work.begin(), loads.work.end(), 0.0) / static_cast<double>(parts.size());
  for (size_t round = 0; round < 4 * parts.size() + 64; ++round) {
    const auto heaviest =
        static_cast<size_t>(std::max_element(loads.work.begin(), loads.work.end()) - loads.work.begin());
    if (parts.size() < 2 || loads.work[heaviest] <= mean * (1 + kEvenEnough)) return;
    const std::optional<Step> step =
        EveningSearch(parts, weights, tokens, loads, budget, moves).find_best_step(heaviest);
    if (!step) return;
    apply(parts, *step);
    for (const size_t p : {step->from, step->to}) {
      loads.work[p] = part_sum(parts[p], weights);
      loads.tokens[p] = part_sum(parts[p], tokens);
    }
  }
}

}  // namespace

bool repair_budget(Partition& parts, const std::vector<int64_t>& tokens, int64_t budget) {
  std::vector<int64_t> loads;
  for (const auto& part : parts) loads.push_back(part_sum(part, tokens));
  while (true) {
    const auto fullest = static_cast<size_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
    if (parts.empty() || loads[fullest] <= budget) return true;
    const std::optional<Step> step = best_repair(parts, tokens, loads, fullest, budget);
    if (!step) return false;
    apply(parts, *step);
    for (const size_t p : {step->from, step->to}) loads[p] = part_sum(parts[p], tokens);
  }
}

Partition best_fit_decreasing(const std::vector<int64_t>& tokens, int64_t budget) {
  std::vector<int64_t> order = first_numbers(std::ssize(tokens));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return tokens[a] > tokens[b]; });
  Partition parts;
  std::set<std::pair<int64_t, size_t>> rooms;  // (free tokens, part)
  for (const int64_t i : order) {
    auto room = rooms.lower_bound({tokens[i], 0});
    if (room == rooms.end()) {
      parts.emplace_back();
      room = rooms.insert({budget, parts.size() - 1}).first;
    }
    const auto [free, part] = *room;
    rooms.erase(room);
    rooms.insert({free - tokens[i], part});
    parts[part].push_back(i);
  }
  return parts;
}

void even_out(Partition& parts, const std::vector<double>& weights, const std::vector<int64_t>& tokens,
              int64_t budget) {
  even_out_with(parts, weights, tokens, budget, /*moves=*/true);
}

void even_out_by_swaps(Partition& parts, const std::vector<double>& weights) {
  even_out_with(parts, weights, std::vector<int64_t>(weights.size(), 0), 0, /*moves=*/false);
}

}  // namespace roll
