// The numbers of one step, gathered over micro-batches and ranks, then reduced the way the name's suffix says:
// @mean (also without suffix; weighted by the true counts), @sum, @max, @min, @std (n - 1), @p50, @p99.
// Shown without the suffix, which the last '@' opens: a name with a user's text in it has its suffix written out.
// What is kept is enough to merge exactly: the result does not depend on how the values were split over micro-batches
// and ranks (but for rounding in the last bits).
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

/// (shown name, value) in the order of the names.
using MetricValues = std::vector<std::pair<std::string, double>>;

class Metrics {
 public:
  enum class Kind : uint8_t { kMean, kSum, kMax, kMin, kStd, kP50, kP99 };
  friend constexpr bool is_known(Kind kind) { return kind <= Kind::kP99; }

  /// What is sent to another rank. Names are most of it, and may be left out where the reader has them.
  struct Message {
    static constexpr MessageKind kMessage{"METR", 1, "metrics"};
    std::map<std::string, Kind> names;       // none: the reader has them
    std::vector<double> numbers;             // of each name: a weight, and what its kind keeps
    std::vector<std::vector<double>> lists;  // of each quantile: its values
    template <class F>
    void fields(F& field) {
      field("names", names), field("numbers", numbers), field("lists", lists);
    }
  };

  /// `weight`: how many tokens, sequences, ... the value is the mean of; only @mean and @std look at it.
  /// Weight 0 says "nothing here". Bug: an unknown suffix, a negative weight, one shown name under two suffixes.
  void add(std::string_view name, double value, double weight = 1);
  /// Each value with weight 1.
  void add_values(std::string_view name, std::span<const double> values);
  /// All elements of a tensor of any shape, floating or integer dtype.
  void add_values(std::string_view name, const at::Tensor& values);

  /// As if all that `other` was given had been given to this one, under `prefix` + its name.
  void merge(const Metrics& other, const std::string& prefix = "");
  /// For another rank; from() gives an equal object.
  Message message(bool with_names = true) const;
  /// `known`: has the names that may be left out. Bug: numbers for other names.
  static Metrics from(const Message& message, const Metrics& known = {});
  /// Whether both have the same names, of the same kinds.
  bool has_names_of(const Metrics& other) const;

  /// Reduced; a name that got nothing (total weight 0) is left out. A NaN that was added stays visible.
  MetricValues values() const;
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    Kind kind = Kind::kMean;
    double weight = 0;        // total weight (kMean, kStd), or the count
    double value = 0;         // @mean: weighted sum; @std: mean; @sum, @max, @min: themselves
    double squares = 0;       // kStd: weighted sum of squared distances from the mean
    std::vector<double> all;  // kP50, kP99
  };
  static std::pair<std::string, Kind> parse_name(std::string_view name);
  static void merge_entry(Entry& into, const Entry& from);
  static double reduced(const Entry& entry);
  template <class SomeEntry, class F>
  static void for_each_number(SomeEntry& entry, const F& use);
  Entry& entry(std::string_view name);

  std::map<std::string, Entry> entries_;  // by shown name
};

/// UserError "origin: metric 'name': ..." for names that come from outside (a plug-in, a config).
void check_metric_name(std::string_view name, const std::string& origin);

}  // namespace roll
