// Metrics of one step, merged over micro-batches and ranks. The suffix chooses the reduction: @mean (default; weighted
// by counts), @sum, @max, @min, @std (n - 1), @p50, @p99.
// The suffix starts at the last '@' and is not shown; names with user text must always have one. Merging is exact up to
// rounding: it does not depend on the split over micro-batches and ranks.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/message.h"

namespace roll {

/// (shown name, value), sorted by name.
using MetricValues = std::vector<std::pair<std::string, double>>;

/// Accumulates values by metric name.
class Metrics {
 public:
  enum class Kind : uint8_t { kMean, kSum, kMax, kMin, kStd, kP50, kP99 };
  friend constexpr bool is_known(Kind kind) { return kind <= Kind::kP99; }

  /// Message to another rank. Names are most of its size; leave them out if the receiver has them.
  struct Message {
    static constexpr MessageKind kMessage{"METR", 1, "metrics"};
    std::map<std::string, Kind> names;       // empty: the receiver has them
    std::vector<double> numbers;             // per name: the weight, then the kind's state
    std::vector<std::vector<double>> lists;  // per quantile metric: its values
    template <class F>
    void fields(F& field) {
      field("names", names), field("numbers", numbers), field("lists", lists);
    }
  };

  /// Adds a value. `weight`: number of tokens, sequences, ... behind it; only @mean and @std use it. Weight 0 adds
  /// nothing. Bug: an unknown suffix, a negative weight, one shown name with two suffixes.
  void add(std::string_view name, double value, double weight = 1);
  /// Adds each value with weight 1.
  void add_values(std::string_view name, std::span<const double> values);
  /// Adds all elements of a tensor of any shape, floating or integer dtype.
  void add_values(std::string_view name, const at::Tensor& values);

  /// Adds everything that was added to `other`, under `prefix` + name.
  void merge(const Metrics& other, const std::string& prefix = "");
  /// Makes a message; from() restores an equal object.
  Message message(bool with_names = true) const;
  /// `known` supplies names that the message leaves out. Bug: the numbers do not fit these names.
  static Metrics from(const Message& message, const Metrics& known = {});
  /// Returns true if both have the same names and kinds.
  bool has_same_names(const Metrics& other) const;

  /// Returns the reduced values; names with total weight 0 are left out. NaN inputs give NaN.
  MetricValues values() const;
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    Kind kind = Kind::kMean;
    double weight = 0;           // total weight (kMean, kStd), or the count
    double value = 0;            // @mean: weighted sum; @std: mean; @sum, @max, @min: the result
    double squares = 0;          // kStd: weighted sum of squared distances from the mean
    std::vector<double> values;  // kP50, kP99
  };
  static std::pair<std::string, Kind> parse_name(std::string_view name);
  static void merge_entry(Entry& into, const Entry& from);
  static double reduced(const Entry& entry);
  template <class SomeEntry, class F>
  static void for_each_number(SomeEntry& entry, const F& use);
  Entry& entry(std::string_view name);

  std::map<std::string, Entry> entries_;  // by shown name
};

/// UserError "origin: metric 'name': ...": a name from outside (plug-in, config) is malformed.
void check_metric_name(std::string_view name, const std::string& origin);

}  // namespace roll
