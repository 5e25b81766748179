#include "packing/partition.h"

#include <algorithm>
#include <queue>

#include "base/error.h"
#include "packing/rebalance.h"

namespace roll {
namespace {

/// A part under construction. Its items are a linked list in `next_`, so that joining two parts is O(1).
struct Bundle {
  double sum = 0;
  int64_t count = 0;
  int64_t head = -1, tail = -1;  // heads are unique, so they settle ties
};

/// A state's bundles by index, heaviest first, without empty ones. Few entries move when one changes place, which keeps
/// thousands of parts of 100,000 items cheap.
using Differencing = std::vector<int64_t>;

class KarmarkarKarp {
  // Defined before its first use, since its return type is deduced.
  static bool is_heavier(const Bundle& a, const Bundle& b) {
    if (a.sum != b.sum) return a.sum > b.sum;
    if (a.count != b.count) return a.count > b.count;
    return a.head > b.head;
  }

  auto heavier() const {
    return [this](int64_t a, int64_t b) { return is_heavier(bundles_[a], bundles_[b]); };
  }

 public:
  KarmarkarKarp(const std::vector<double>& weights, int64_t k) : k_(k), next_(weights.size(), -1) {
    ROLL_CHECK(k >= 1, "a partition has parts");
    ROLL_CHECK(std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; }), "work is not negative");
    for (int64_t i = 0; i < std::ssize(weights); ++i) bundles_.push_back({weights[i], 1, i, i});
  }

  /// Adds a state in which each of these items is a part.
  void add(std::vector<int64_t> items) {
    std::sort(items.begin(), items.end(), heavier());
    push(std::move(items));
  }

  /// Merges the two states of the largest spread until one is left. The heaviest part of one joins the lightest of the
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
    return bundles_[state.front()].sum - (std::ssize(state) == k_ ? bundles_[state.back()].sum : 0);
  }

  struct Entry {
    double spread;
    Bundle largest;
    size_t state;
    bool operator<(const Entry& other) const {
      if (spread != other.spread) return spread < other.spread;
      return is_heavier(other.largest, largest);
    }
  };

  void push(Differencing state) {
    const Entry entry{spread(state), bundles_[state.front()], states_.size()};
    if (free_states_.empty()) {
      states_.push_back(std::move(state));
      heap_.push(entry);
      return;
    }
    states_[free_states_.back()] = std::move(state);
    heap_.push({entry.spread, entry.largest, free_states_.back()});
    free_states_.pop_back();
  }

  Differencing pop() {
    const size_t index = heap_.top().state;
    heap_.pop();
    free_states_.push_back(index);
    return std::move(states_[index]);
  }

  Differencing side_by_side(Differencing a, const Differencing& b) const {
    replace_tail(a, a.size(), b);
    return a;
  }

  Differencing joined(Differencing a, const Differencing& b) {
    const size_t untouched = std::min(a.size(), static_cast<size_t>(k_) - b.size());
    Differencing changed;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t lightest = static_cast<size_t>(k_) - 1 - j;
      changed.push_back(lightest < a.size() ? join(a[lightest], b[j]) : b[j]);
    }
    std::sort(changed.begin(), changed.end(), heavier());
    replace_tail(a, untouched, changed);
    return a;
  }

  /// Cuts `state` to its first `kept` bundles and merges `others` in; both are sorted.
  void replace_tail(Differencing& state, size_t kept, const Differencing& others) const {
    state.resize(kept);
    if (others.size() < 8) {
      for (const int64_t other : others)
        state.insert(std::upper_bound(state.begin(), state.end(), other, heavier()), other);
      return;
    }
    state.insert(state.end(), others.begin(), others.end());
    std::inplace_merge(state.begin(), state.begin() + static_cast<int64_t>(kept), state.end(), heavier());
  }

  /// Appends the bundle `from` to `into` and returns `into`.
  int64_t join(int64_t into, int64_t from) {
    Bundle& a = bundles_[into];
    const Bundle& b = bundles_[from];
    next_[a.tail] = b.head;
    a.tail = b.tail;
    a.sum += b.sum;
    a.count += b.count;
    return into;
  }

  Partition parts(const Differencing& state) const {
    Partition partition(k_);
    for (size_t p = 0; p < state.size(); ++p) {
      const Bundle& bundle = bundles_[state[p]];
      for (int64_t i = bundle.head; i >= 0; i = next_[i]) {
        partition[p].push_back(i);
        if (i == bundle.tail) break;
      }
      std::sort(partition[p].begin(), partition[p].end());
    }
    return partition;
  }

  int64_t k_;
  std::vector<Bundle> bundles_;  // initially one per item
  std::vector<int64_t> next_;
  std::vector<Differencing> states_;
  std::vector<size_t> free_states_;
  std::priority_queue<Entry> heap_;
};

/// Sorts parts by their first index, for reading; their order has no meaning.
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
  // Items without weight fill the last round, and are removed afterwards.
  const auto n = static_cast<int64_t>(weights.size());
  std::vector<double> filled = weights;
  filled.resize((n + k - 1) / k * k, 0);
  std::vector<int64_t> order = first_numbers(std::ssize(filled));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    if (filled[a] != filled[b]) return filled[a] < filled[b];
    return a > b;  // fillers first among weightless items, so that all are in one round
  });
  KarmarkarKarp solver(filled, k);
  for (size_t round = 0; round < order.size(); round += k)
    solver.add({order.begin() + static_cast<int64_t>(round), order.begin() + static_cast<int64_t>(round) + k});
  Partition parts = solver.solve();
  for (auto& part : parts) std::erase_if(part, [&](int64_t i) { return i >= n; });
  return in_reading_order(std::move(parts));
}

Partition balance_ranks(const std::vector<double>& work, int64_t num_ranks) {
  Partition ranks = karmarkar_karp_equal_counts(work, num_ranks);
  even_out_by_swaps(ranks, work);
  for (auto& rank : ranks) std::sort(rank.begin(), rank.end());
  return ranks;
}

Partition balance_ranks(const std::vector<int64_t>& lengths, int64_t num_ranks, const Workload& workload) {
  std::vector<double> work;
  for (const int64_t length : lengths) work.push_back(workload(length));
  return balance_ranks(work, num_ranks);
}

double imbalance(const std::vector<double>& loads) {
  double largest = 0, sum = 0;
  for (const double load : loads) {
    largest = std::max(largest, load);
    sum += load;
  }
  return sum > 0 ? largest * static_cast<double>(loads.size()) / sum - 1 : 0;
}

double imbalance(const Partition& parts, const std::vector<double>& weights) {
  std::vector<double> loads;
  for (const auto& part : parts) loads.push_back(part_sum(part, weights));
  return imbalance(loads);
}

}  // namespace roll
