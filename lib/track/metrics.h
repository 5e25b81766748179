// Collects the metrics of one step and merges them over micro-batches and ranks. The suffix of a name chooses the
// reduction: @mean (the default; weighted), @sum, @max, @min, @std (divides by n - 1), @p50, @p99 (quantiles of all
// values). The suffix begins at the last '@'; the shown name is the part before it. A name that contains a user's text,
// such as a tag, must always have a suffix, because the text may contain '@'. Up to rounding, results do not depend on
// the split over micro-batches and ranks.
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

/// Accumulates values by metric name. Not thread-safe.
class Metrics {
 public:
  enum class Kind : uint8_t { kMean, kSum, kMax, kMin, kStd, kP50, kP99 };
  friend constexpr bool is_known(Kind kind) { return kind <= Kind::kP99; }

  /// Content of a Metrics object, to be sent to another rank. Names are most of its size; leave them out if the
  /// receiver has the same names.
  struct Message {
    static constexpr MessageKind kMessage{"METR", 1, "metrics"};
    std::map<std::string, Kind> names;       // shown names; empty: the receiver has the same
    std::vector<double> numbers;             // per name in order: weight, value, and for kStd squares (see Entry)
    std::vector<std::vector<double>> lists;  // per metric of kind kP50 or kP99: all values
    template <class F>
    void fields(F& field) {
      field("names", names), field("numbers", numbers), field("lists", lists);
    }
  };

  /// Adds a value. `weight` is the number of tokens, sequences, ... that it is a mean over; only @mean and @std use it.
  /// Weight 0 adds nothing but the name. Throws Bug for an unknown suffix, a negative weight, or a shown name that was
  /// added with another suffix before.
  void add(std::string_view name, double value, double weight = 1);
  /// Adds each value with weight 1.
  void add_values(std::string_view name, std::span<const double> values);
  /// Adds all elements of a tensor of any shape, floating or integer dtype.
  void add_values(std::string_view name, const at::Tensor& values);

  /// Adds all values of `other`, under `prefix` + name. Throws Bug if a name has another suffix in `other`.
  void merge(const Metrics& other, const std::string& prefix = "");
  /// Makes a message, from which from() restores an equal object.
  Message message(bool with_names = true) const;
  /// Makes the object that `message` was made from. If the message has no names, takes those in `known`. Throws Bug if
  /// the message's numbers do not fit the names.
  static Metrics from(const Message& message, const Metrics& known = {});
  /// Returns true if both have the same names with the same kinds, so that messages between them need no names.
  bool has_same_names(const Metrics& other) const;

  /// Returns the reduced values by shown name, sorted; names with total weight 0 are left out. One NaN value makes its
  /// metric NaN.
  MetricValues values() const;
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    Kind kind = Kind::kMean;
    double weight = 0;           // total weight; 0: no values
    double value = 0;            // kMean: weighted sum; kStd: mean; kSum, kMax, kMin: the result
    double squares = 0;          // kStd: weighted sum of squared distances from the mean
    std::vector<double> values;  // kP50, kP99: all values
  };
  static std::pair<std::string, Kind> parse_name(std::string_view name);
  static void merge_entry(Entry& into, const Entry& from);
  static double reduced(const Entry& entry);
  template <class SomeEntry, class F>
  static void for_each_number(SomeEntry& entry, const F& use);
  Entry& entry(std::string_view name);

  std::map<std::string, Entry> entries_;  // by shown name
};

/// Throws UserError "ORIGIN: metric 'NAME': problem" if a name from a plug-in or configuration is malformed: it has no
/// text before '@', or an unknown suffix.
void check_metric_name(std::string_view name, const std::string& origin);

}  // namespace roll
