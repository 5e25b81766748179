#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/nearest.h"
#include "jinja/budget.h"
#include "jinja/functions.h"
#include "jinja/strings.h"

namespace roll::jinja {

namespace {

using Filter = Value (*)(const Value& value, const Arguments& arguments);
struct NamedFilter {
  std::string_view name;
  Filter filter;
};
using Test = bool (*)(const Value& value, const Arguments& arguments);
struct NamedTest {
  std::string_view name;
  Test test;
};

/// Returns an attribute; `path` may hold several, separated by dots.
Value get_attribute(const Value& value, const std::string& path) {
  charge(kStepBytes);
  Value out = value;
  for (const std::string& part : split(path, ".", -1)) {
    int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = error == std::errc() && end == part.data() + part.size();
    out = get_item(out, is_index ? Value(index) : Value(part));
  }
  return out;
}

Value default_filter(const Value& value, const Arguments& a) {
  const auto also_false = a.find(1, "boolean");
  const bool missing = value.is_undefined() || (also_false && also_false->truthy() && !value.truthy());
  return missing ? a.find(0, "default_value").value_or(Value("")) : value;
}

Value first_filter(const Value& value, const Arguments&) {
  const List list = value.elements();
  return list.empty() ? Value(Undefined{"the first element of an empty list"}) : list.front();
}

Value last_filter(const Value& value, const Arguments&) {
  const List list = value.elements();
  return list.empty() ? Value(Undefined{"the last element of an empty list"}) : list.back();
}

Value join_filter(const Value& value, const Arguments& a) {
  const auto separator = a.find(0, "d");
  const auto attribute = a.find(1, "attribute");
  List list = value.elements();
  if (attribute)
    for (Value& element : list) element = get_attribute(element, attribute->string());
  return joined(list, separator ? separator->text() : "");
}

Value trim_filter(const Value& value, const Arguments& a) {
  const auto characters = a.find(0, "chars");
  return stripped(value.text(),
                  characters && !characters->is_none() ? std::optional(characters->string()) : std::nullopt, true,
                  true);
}

Value reverse_filter(const Value& value, const Arguments&) {
  return get_slice(value, {}, {}, -1);
}

/// Python's round(): to the nearest decimal with `digits` digits; ties go to the even one.
double rounded(double x, int64_t digits) {
  constexpr int64_t kMaxDigits = 323,
                    kMaxZeros = 308;  // with more digits a float stays as it is; with more zeros it becomes 0
  if (!std::isfinite(x) || digits > kMaxDigits) return x;
  if (digits < -kMaxZeros) return 0 * x;
  if (digits >= 0) return std::stod(fmt::format("{:.{}f}", x, digits));
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  return std::nearbyint(x / scale) * scale;
}

Value round_filter(const Value& value, const Arguments& a) {
  const auto precision = a.find(0, "precision"), method = a.find(1, "method");
  const int64_t digits = precision ? precision->integer() : 0;
  const std::string mode = method ? method->string() : "common";
  if (mode == "common") {
    const double number = rounded(value.number(), digits);
    if (value.is_float()) return number;
    return digits >= 0 ? value.integer() : static_cast<int64_t>(number);  // an integer stays an integer
  }
  if (mode != "ceil" && mode != "floor") throw Failure("round: the method must be common, ceil or floor");
  const double scale = std::pow(10.0, static_cast<double>(digits)), large = value.number() * scale;
  if (!std::isfinite(large) || scale == 0) throw Failure(fmt::format("round: {} digits are too many", digits));
  return (mode == "ceil" ? std::ceil(large) : std::floor(large)) / scale;
}

Value int_filter(const Value& value, const Arguments& a) {
  const Value fallback = a.find(0, "default").value_or(Value(int64_t{0}));
  if (value.is_float() && std::abs(value.number()) < 9e18) return static_cast<int64_t>(value.number());
  if (value.is_bool() || value.is_int()) return value.integer();
  if (!value.is_string()) return fallback;
  const std::string text = stripped(value.string(), {}, true, true);
  int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? Value(out) : fallback;
}

Value float_filter(const Value& value, const Arguments& a) {
  if (value.is_number()) return value.number();
  const std::string text = value.is_string() ? stripped(value.string(), {}, true, true) : "";
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() ? Value(out)
                                                                  : a.find(0, "default").value_or(Value(0.0));
}

Value indent_filter(const Value& value, const Arguments& a) {
  const auto width = a.find(0, "width");
  const auto first = a.find(1, "first"), blank = a.find(2, "blank");
  const int64_t spaces = width && width->is_int() ? std::clamp<int64_t>(width->integer(), 0, 1000) : 4;
  const std::string pad = width && width->is_string() ? width->string() : std::string(static_cast<size_t>(spaces), ' ');
  std::string out;
  const auto lines = split(value.text(), "\n", -1);
  for (size_t i = 0; i < lines.size(); ++i) {
    charge(pad.size());
    const bool padded = i == 0 ? first && first->truthy() : !lines[i].empty() || (blank && blank->truthy());
    check_length(out.append(i > 0 ? "\n" : "").append(padded ? pad : "").append(lines[i]).size());
  }
  return out;
}

Value tojson_filter(const Value& value, const Arguments& a) {
  const auto indent = a.find(99, "indent");
  const auto positional = a.positional.size() > 1 ? std::optional(a.positional[1]) : indent;
  return dump_json(value, positional && positional->is_int()
                              ? static_cast<int>(std::clamp<int64_t>(positional->integer(), 0, 100))
                              : -1);
}

Value items_filter(const Value& value, const Arguments& a) {
  if (value.is_undefined()) return List();
  value.dict();
  return find_method(value, "items")->function()(a);
}

Value sorted(List list, const Arguments& a) {
  const auto reverse = a.find(0, "reverse"), sensitive = a.find(1, "case_sensitive"),
             attribute = a.find(2, "attribute");
  const auto key = [&](const Value& v) {
    const Value k = attribute ? get_attribute(v, attribute->string()) : v;
    return k.is_string() && !(sensitive && sensitive->truthy()) ? Value(lowered(k.string())) : k;
  };
  std::ranges::stable_sort(list, [&](const Value& x, const Value& y) {
    return reverse && reverse->truthy() ? compare(key(y), key(x)) < 0 : compare(key(x), key(y)) < 0;
  });
  return list;
}

Value dictsort_filter(const Value& value, const Arguments&) {
  return sorted(items_filter(value, {}).list(), {{}, {{"attribute", Value("0")}}});
}

Value unique_filter(const Value& value, const Arguments&) {
  List out;
  for (const Value& element : value.elements())
    if (std::ranges::none_of(out, [&](const Value& seen) { return equal(seen, element); })) out.push_back(element);
  return out;
}

Value sum_filter(const Value& value, const Arguments& a) {
  const auto attribute = a.find(0, "attribute");
  Value total = a.find(1, "start").value_or(Value(int64_t{0}));
  for (const Value& element : value.elements())
    total = arithmetic("+", total, attribute ? get_attribute(element, attribute->string()) : element);
  return total;
}

template <int sign>
Value extreme_filter(const Value& value, const Arguments&) {
  const List list = value.elements();
  if (list.empty()) return Undefined{"the minimum or maximum of an empty list"};
  Value best = list[0];
  for (const Value& element : list)
    if (sign * compare(element, best) > 0) best = element;
  return best;
}

Arguments without_first(const Arguments& a, size_t count) {
  charge(kStepBytes + (a.positional.size() + a.named.size()) * sizeof(Value));
  return {List(a.positional.begin() + static_cast<std::ptrdiff_t>(std::min(count, a.positional.size())),
               a.positional.end()),
          a.named};
}

Value map_filter(const Value& value, const Arguments& a) {
  List out;
  const auto attribute = a.find(99, "attribute");
  const auto fallback = a.find(99, "default");
  for (const Value& element : value.elements()) {
    Value mapped = attribute ? get_attribute(element, attribute->text())
                             : apply_filter(a.need(0, "filter").string(), element, without_first(a, 1));
    if (mapped.is_undefined() && fallback) mapped = *fallback;
    out.push_back(std::move(mapped));
  }
  return out;
}

/// Implements select, reject, selectattr and rejectattr (`by_attribute`): keeps elements whose test gives `wanted`.
template <bool wanted, bool by_attribute>
Value select_filter(const Value& value, const Arguments& a) {
  const size_t at = by_attribute ? 1 : 0;
  List out;
  for (const Value& element : value.elements()) {
    const Value tested = by_attribute ? get_attribute(element, a.need(0, "attribute").text()) : element;
    const bool passes = a.positional.size() > at
                            ? apply_test(a.positional[at].string(), tested, without_first(a, at + 1))
                            : tested.truthy();
    if (passes == wanted) out.push_back(element);
  }
  return out;
}

constexpr auto kFilters = std::to_array<NamedFilter>({
    {"abs",
     [](const Value& v, const Arguments&) {
       return v.is_float() ? Value(std::abs(v.number())) : v.integer() < 0 ? negative(v) : Value(v.integer());
     }},
    {"capitalize", [](const Value& v, const Arguments&) { return Value(capitalized(v.text())); }},
    {"count", [](const Value& v, const Arguments&) { return Value(v.length()); }},
    {"d", default_filter},
    {"default", default_filter},
    {"dictsort", dictsort_filter},
    {"first", first_filter},
    {"float", float_filter},
    {"indent", indent_filter},
    {"int", int_filter},
    {"items", items_filter},
    {"join", join_filter},
    {"last", last_filter},
    {"length", [](const Value& v, const Arguments&) { return Value(v.length()); }},
    {"list", [](const Value& v, const Arguments&) { return Value(v.elements()); }},
    {"lower", [](const Value& v, const Arguments&) { return Value(lowered(v.text())); }},
    {"map", map_filter},
    {"max", extreme_filter<1>},
    {"min", extreme_filter<-1>},
    {"reject", select_filter<false, false>},
    {"rejectattr", select_filter<false, true>},
    {"replace",
     [](const Value& v, const Arguments& a) {
       return Value(replaced(v.text(), a.need(0, "old").text(), a.need(1, "new").text(),
                             a.find(2, "count").value_or(int64_t{-1}).integer()));
     }},
    {"reverse", reverse_filter},
    {"round", round_filter},
    {"safe", [](const Value& v, const Arguments&) { return v; }},
    {"select", select_filter<true, false>},
    {"selectattr", select_filter<true, true>},
    {"sort", [](const Value& v, const Arguments& a) { return sorted(v.elements(), a); }},
    {"string", [](const Value& v, const Arguments&) { return Value(v.text()); }},
    {"sum", sum_filter},
    {"title", [](const Value& v, const Arguments&) { return Value(titled(v.text())); }},
    {"tojson", tojson_filter},
    {"trim", trim_filter},
    {"unique", unique_filter},
    {"upper", [](const Value& v, const Arguments&) { return Value(uppered(v.text())); }},
});

bool is_equal(const Value& v, const Arguments& a) {
  return equal(v, a.need(0, "other"));
}
bool is_iterable(const Value& v, const Arguments&) {
  return v.is_list() || v.is_string() || v.is_dict() || v.is_undefined();
}

constexpr auto kTests = std::to_array<NamedTest>({
    {"boolean", [](const Value& v, const Arguments&) { return v.is_bool(); }},
    {"callable", [](const Value& v, const Arguments&) { return v.is_function(); }},
    {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
    {"divisibleby", [](const Value& v, const Arguments& a) { return !arithmetic("%", v, a.need(0, "num")).truthy(); }},
    {"eq", is_equal},
    {"equalto", is_equal},
    {"even", [](const Value& v, const Arguments&) { return v.integer() % 2 == 0; }},
    {"false", [](const Value& v, const Arguments&) { return v.is_bool() && !v.truthy(); }},
    {"float", [](const Value& v, const Arguments&) { return v.is_float(); }},
    {"ge", [](const Value& v, const Arguments& a) { return compare(v, a.need(0, "other")) >= 0; }},
    {"gt", [](const Value& v, const Arguments& a) { return compare(v, a.need(0, "other")) > 0; }},
    {"in", [](const Value& v, const Arguments& a) { return contains(a.need(0, "seq"), v); }},
    {"integer", [](const Value& v, const Arguments&) { return v.is_int(); }},
    {"iterable", is_iterable},
    {"le", [](const Value& v, const Arguments& a) { return compare(v, a.need(0, "other")) <= 0; }},
    {"lower", [](const Value& v, const Arguments&) { return v.text() == lowered(v.text()); }},
    {"lt", [](const Value& v, const Arguments& a) { return compare(v, a.need(0, "other")) < 0; }},
    {"mapping", [](const Value& v, const Arguments&) { return v.is_dict(); }},
    {"ne", [](const Value& v, const Arguments& a) { return !is_equal(v, a); }},
    {"none", [](const Value& v, const Arguments&) { return v.is_none(); }},
    {"number", [](const Value& v, const Arguments&) { return v.is_number(); }},
    {"odd", [](const Value& v, const Arguments&) { return v.integer() % 2 != 0; }},
    {"sameas", [](const Value& v,
                  const Arguments& a) { return v.type_name() == a.need(0, "other").type_name() && is_equal(v, a); }},
    {"sequence", is_iterable},
    {"string", [](const Value& v, const Arguments&) { return v.is_string(); }},
    {"true", [](const Value& v, const Arguments&) { return v.is_bool() && v.truthy(); }},
    {"undefined", [](const Value& v, const Arguments&) { return v.is_undefined(); }},
    {"upper", [](const Value& v, const Arguments&) { return v.text() == uppered(v.text()); }},
});

/// Returns the entry called `name`. Failure: there is none; the message suggests the nearest name.
template <class Table>
const auto& find_entry(const Table& table, const std::string& name, std::string_view kind) {
  const auto entry = std::ranges::find_if(table, [&](const auto& e) { return e.name == name; });
  if (entry != table.end()) return *entry;
  std::vector<std::string> names;
  for (const auto& e : table) names.emplace_back(e.name);
  throw Failure(
      fmt::format("unknown {} '{}'; known are {}{}", kind, name, fmt::join(names, ", "), did_you_mean(name, names)));
}

}  // namespace

Value apply_filter(const std::string& name, const Value& value, const Arguments& arguments) {
  return find_entry(kFilters, name, "filter").filter(value, arguments);
}

bool apply_test(const std::string& name, const Value& value, const Arguments& arguments) {
  return find_entry(kTests, name, "test").test(value, arguments);
}

}  // namespace roll::jinja
