#include "packing/partition.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/error.h"

namespace roll {
namespace {

/// A part under construction: its items are a linked list in `next`, so that joining two parts is O(1).
struct Bundle {
  double sum = 0;
  int64_t count = 0;
  int64_t head = -1, tail = -1;  // no two bundles share a head, so that it can settle ties
};

bool heavier(const Bundle& a, const Bundle& b) {
  if (a.sum != b.sum) return a.sum > b.sum;
  if (a.count != b.count) return a.count > b.count;
  return a.head > b.head;
}

/// k bundles, heaviest first; the empty ones at the end are left out, which keeps k = 512 with 100,000 items cheap.
using Differencing = std::vector<Bundle>;

class KarmarkarKarp {
 public:
  KarmarkarKarp(const std::vector<double>& weights, int64_t k) : weights_(weights), k_(k), next_(weights.size(), -1) {
    ROLL_CHECK(k >= 1, "a partition has parts");
    ROLL_CHECK(std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; }), "work is not negative");
  }

  /// One state of these items, each in a part of its own.
  void add(const std::vector<int64_t>& items) {
    Differencing state;
    for (const int64_t i : items) state.push_back({weights_[i], 1, i, i});
    std::sort(state.begin(), state.end(), heavier);
    push(std::move(state));
  }

  /// Merges the two states of the largest spread until one is left: the heaviest part of one joins the lightest of the
  /// other, so that only their difference remains.
  Partition solve() {
    while (heap_.size() > 1) {
      Differencing a = pop();
      const Differencing b = pop();
      push(a.size() + b.size() <= static_cast<size_t>(k_) ? side_by_side(std::move(a), b) : joined(std::move(a), b));
    }
    return parts(heap_.empty() ? Differencing{} : pop());
  }

 private:
  double spread(const Differencing& state) const {
    return state.front().sum - (static_cast<int64_t>(state.size()) == k_ ? state.back().sum : 0);
  }

  struct Entry {
    double spread;
    Bundle largest;
    size_t state;
    bool operator<(const Entry& other) const {
      if (spread != other.spread) return spread < other.spread;
      return heavier(other.largest, largest);
    }
  };

  void push(Differencing state) {
    const Entry entry{spread(state), state.front(), states_.size()};
    if (free_.empty()) {
      states_.push_back(std::move(state));
      heap_.push(entry);
      return;
    }
    states_[free_.back()] = std::move(state);
    heap_.push({entry.spread, entry.largest, free_.back()});
    free_.pop_back();
  }

  Differencing pop() {
    const size_t index = heap_.top().state;
    heap_.pop();
    free_.push_back(index);
    return std::move(states_[index]);
  }

  static Differencing side_by_side(Differencing a, const Differencing& b) {
    for (const Bundle& bundle : b) a.insert(std::upper_bound(a.begin(), a.end(), bundle, heavier), bundle);
    return a;
  }

  Differencing joined(Differencing a, const Differencing& b) {
    a.resize(k_);
    for (size_t j = 0; j < b.size(); ++j) join(a[k_ - 1 - j], b[j]);
    std::sort(a.begin(), a.end(), heavier);
    return a;
  }

  void join(Bundle& into, const Bundle& from) {
    if (into.count > 0)
      next_[into.tail] = from.head;
    else
      into.head = from.head;
    into.tail = from.tail;
    into.sum += from.sum;
    into.count += from.count;
  }

  Partition parts(const Differencing& state) const {
    Partition partition(k_);
    for (size_t p = 0; p < state.size(); ++p) {
      for (int64_t i = state[p].head; i >= 0; i = next_[i]) {
        partition[p].push_back(i);
        if (i == state[p].tail) break;
      }
      std::sort(partition[p].begin(), partition[p].end());
    }
    return partition;
  }

  const std::vector<double>& weights_;
  int64_t k_;
  std::vector<int64_t> next_;
  std::vector<Differencing> states_;
  std::vector<size_t> free_;
  std::priority_queue<Entry> heap_;
};

/// The order of parts says nothing; by first index it is at least easy to read.
Partition in_reading_order(Partition parts) {
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) {
    return (a.empty() ? INT64_MAX : a.front()) < (b.empty() ? INT64_MAX : b.front());
  });
  return parts;
}

}  // namespace

Partition karmarkar_karp(const std::vector<double>& weights, int64_t k) {
  KarmarkarKarp solver(weights, k);
  for (size_t i = 0; i < weights.size(); ++i) solver.add({static_cast<int64_t>(i)});
  return in_reading_order(solver.solve());
}

Partition karmarkar_karp_equal_counts(const std::vector<double>& weights, int64_t k) {
  // Stand-ins without weight fill up the last round and are taken out again.
  const auto n = static_cast<int64_t>(weights.size());
  std::vector<double> filled = weights;
  filled.resize((n + k - 1) / k * k, 0);
  std::vector<int64_t> order(filled.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (filled[a] != filled[b]) return filled[a] < filled[b];
    return a > b;  // stand-ins first among the weightless, so that all of them are in one round
  });
  KarmarkarKarp solver(filled, k);
  for (size_t round = 0; round < order.size(); round += k)
    solver.add({order.begin() + static_cast<int64_t>(round), order.begin() + static_cast<int64_t>(round) + k});
  Partition parts = solver.solve();
  for (auto& part : parts) std::erase_if(part, [&](int64_t i) { return i >= n; });
  return in_reading_order(std::move(parts));
}

Partition balance_ranks(const std::vector<int64_t>& lengths, int64_t num_ranks, const Workload& workload) {
  std::vector<double> weights;
  for (const int64_t length : lengths) weights.push_back(workload(length));
  return karmarkar_karp_equal_counts(weights, num_ranks);
}

double part_weight(const std::vector<int64_t>& part, const std::vector<double>& weights) {
  double sum = 0;
  for (const int64_t i : part) sum += weights[i];
  return sum;
}

double imbalance(const Partition& parts, const std::vector<double>& weights) {
  double largest = 0, sum = 0;
  for (const auto& part : parts) {
    const double weight = part_weight(part, weights);
    largest = std::max(largest, weight), sum += weight;
  }
  return sum > 0 ? largest * static_cast<double>(parts.size()) / sum - 1 : 0;
}

}  // namespace roll
