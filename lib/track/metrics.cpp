#include "track/metrics.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

namespace {

constexpr std::array<std::string_view, 7> kSuffixes = {"mean", "sum", "max", "min", "std", "p50", "p99"};

/// Sets the index into kSuffixes. Returns "" if the name is well formed, else the problem.
std::string find_suffix(std::string_view name, size_t& index) {
  const size_t at = name.rfind('@');
  index = 0;
  if (name.substr(0, at).empty()) return "a metric needs a name before '@'";
  if (at == std::string_view::npos) return "";
  const std::string_view suffix = name.substr(at + 1);
  const auto* const found = std::find(kSuffixes.begin(), kSuffixes.end(), suffix);
  index = static_cast<size_t>(found - kSuffixes.begin());
  if (found != kSuffixes.end()) return "";
  return fmt::format("unknown suffix '@{}'; use @mean, @sum, @max, @min, @std, @p50 or @p99{}", suffix,
                     did_you_mean(suffix, {kSuffixes.begin(), kSuffixes.end()}));
}

/// NaN wins on either side.
double larger(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}
double smaller(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}

/// Interpolates linearly between the nearest ranks, like NumPy's default. NaN if any value is NaN.
double quantile(std::vector<double> values, double q) {
  if (std::any_of(values.begin(), values.end(), [](double x) { return std::isnan(x); })) return std::nan("");
  const double position = q * static_cast<double>(values.size() - 1);
  const auto low = values.begin() + static_cast<std::ptrdiff_t>(position);
  std::nth_element(values.begin(), low, values.end());
  const double fraction = position - std::floor(position);
  if (fraction == 0) return *low;
  return *low + fraction * (*std::min_element(low + 1, values.end()) - *low);
}

}  // namespace

std::pair<std::string, Metrics::Kind> Metrics::parse_name(std::string_view name) {
  size_t index = 0;
  const std::string problem = find_suffix(name, index);
  if (!problem.empty()) throw Bug(fmt::format("metric '{}': {}", name, problem));
  return {std::string(name.substr(0, name.rfind('@'))), static_cast<Kind>(index)};
}

Metrics::Entry& Metrics::entry(std::string_view name) {
  auto [shown, kind] = parse_name(name);
  const auto [found, is_new] = entries_.try_emplace(std::move(shown));
  if (is_new) found->second.kind = kind;
  if (found->second.kind != kind)
    throw Bug(fmt::format("metric '{}': '{}' was added as @{} before; one shown name has one reduction", name,
                          found->first, kSuffixes[static_cast<size_t>(found->second.kind)]));
  return found->second;
}

void Metrics::add(std::string_view name, double value, double weight) {
  ROLL_CHECK(weight >= 0, fmt::format("metric '{}' has weight {}", name, weight));
  Entry& into = entry(name);
  if (weight == 0) return;
  Entry added;
  added.kind = into.kind;
  added.weight = weight;
  added.value = added.kind == Kind::kMean ? weight * value : value;
  if (added.kind == Kind::kP50 || added.kind == Kind::kP99) added.values = {value};
  merge_entry(into, added);
}

void Metrics::add_values(std::string_view name, std::span<const double> values) {
  entry(name);
  for (const double value : values) add(name, value);
}

void Metrics::add_values(std::string_view name, const at::Tensor& values) {
  const at::Tensor host = values.detach().to(at::kCPU, at::kDouble).contiguous();
  add_values(name, std::span(host.data_ptr<double>(), static_cast<size_t>(host.numel())));
}

/// @std uses the pairwise update of mean and squares by Chan, Golub and LeVeque.
void Metrics::merge_entry(Entry& into, const Entry& from) {
  if (from.weight == 0) return;
  if (into.weight == 0) {
    into = from;
    return;
  }
  const double total = into.weight + from.weight;
  const double distance = from.value - into.value;
  switch (into.kind) {
    case Kind::kStd:
      into.squares += from.squares + distance * distance * into.weight * from.weight / total;
      into.value += distance * from.weight / total;
      break;
    case Kind::kMean:
    case Kind::kSum:
      into.value += from.value;
      break;
    case Kind::kMax:
      into.value = larger(from.value, into.value);
      break;
    case Kind::kMin:
      into.value = smaller(from.value, into.value);
      break;
    case Kind::kP50:
    case Kind::kP99:
      into.values.insert(into.values.end(), from.values.begin(), from.values.end());
      break;
  }
  into.weight = total;
}

double Metrics::reduced(const Entry& entry) {
  switch (entry.kind) {
    case Kind::kMean:
      return entry.value / entry.weight;
    case Kind::kStd:
      return entry.weight > 1 ? std::sqrt(entry.squares / (entry.weight - 1)) : 0.0;
    case Kind::kP50:
      return quantile(entry.values, 0.5);
    case Kind::kP99:
      return quantile(entry.values, 0.99);
    default:
      return entry.value;
  }
}

void Metrics::merge(const Metrics& other, const std::string& prefix) {
  for (const auto& [shown, from] : other.entries_)
    merge_entry(entry(fmt::format("{}{}@{}", prefix, shown, kSuffixes[static_cast<size_t>(from.kind)])), from);
}

MetricValues Metrics::values() const {
  MetricValues values;
  for (const auto& [shown, entry] : entries_)
    if (entry.weight > 0) values.emplace_back(shown, reduced(entry));
  return values;
}

/// Calls `use` for the numbers that the entry's kind stores.
template <class SomeEntry, class F>
void Metrics::for_each_number(SomeEntry& entry, const F& use) {
  use(entry.weight);
  if (entry.kind == Kind::kP50 || entry.kind == Kind::kP99) return use(entry.values);
  use(entry.value);
  if (entry.kind == Kind::kStd) use(entry.squares);
}

bool Metrics::has_same_names(const Metrics& other) const {
  return std::ranges::equal(entries_, other.entries_, [](const auto& left, const auto& right) {
    return left.first == right.first && left.second.kind == right.second.kind;
  });
}

Metrics::Message Metrics::message(bool with_names) const {
  Message message;
  for (const auto& [shown, entry] : entries_) {
    if (with_names) message.names.emplace(shown, entry.kind);
    for_each_number(entry, [&](const auto& stored) {
      if constexpr (std::is_same_v<decltype(stored), const double&>)
        message.numbers.push_back(stored);
      else
        message.lists.push_back(stored);
    });
  }
  return message;
}

Metrics Metrics::from(const Message& message, const Metrics& known) {
  Metrics metrics;
  for (const auto& [shown, kind] : message.names) metrics.entries_[shown].kind = kind;
  if (message.names.empty())
    for (const auto& [shown, entry] : known.entries_) metrics.entries_[shown].kind = entry.kind;
  auto number = message.numbers.begin();
  auto list = message.lists.begin();
  const auto take = [](auto& stored, auto& next, const auto& values) {
    ROLL_CHECK(next != values.end(), "metrics have the numbers of their names");
    stored = *next++;
  };
  for (auto& [shown, entry] : metrics.entries_)
    for_each_number(entry, [&](auto& stored) {
      if constexpr (std::is_same_v<decltype(stored), double&>)
        take(stored, number, message.numbers);
      else
        take(stored, list, message.lists);
    });
  ROLL_CHECK(number == message.numbers.end() && list == message.lists.end(), "metrics have the numbers of their names");
  return metrics;
}

void check_metric_name(std::string_view name, const std::string& origin) {
  size_t index = 0;
  const std::string problem = find_suffix(name, index);
  if (!problem.empty()) throw user_error("{}: metric '{}': {}", origin, name, problem);
}

}  // namespace roll
