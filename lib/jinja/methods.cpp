#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "jinja/budget.h"
#include "jinja/functions.h"
#include "jinja/strings.h"

namespace roll::jinja {

namespace {

constexpr int64_t kMaxRange = 100000;  // limit of Jinja's sandbox

using Method = Value (*)(const Value& self, const Arguments& arguments);
struct NamedMethod {
  std::string_view name;
  Method method;
};

std::optional<std::string> text_argument(const Arguments& arguments, size_t index, std::string_view name) {
  const auto value = arguments.find(index, name);
  if (!value || value->is_none()) return {};
  return value->string();
}

/// str.startswith and str.endswith accept one string or several.
template <class Matches>
Value any_affix(const Arguments& arguments, const Matches& matches) {
  const Value affix = arguments.need(0, "prefix");
  const auto affix_matches = [&](const Value& one) {
    charge(kStepBytes + one.string().size());
    return matches(one.string());
  };
  return affix.is_string() ? affix_matches(affix) : Value(std::ranges::any_of(affix.list(), affix_matches));
}

Value to_values(const std::vector<std::string>& parts) {
  return List(parts.begin(), parts.end());
}

int64_t limit_argument(const Arguments& arguments) {
  const auto value = arguments.find(1, "maxsplit");
  return value ? value->integer() : -1;
}

constexpr auto kStringMethods = std::to_array<NamedMethod>({
    {"capitalize", [](const Value& s, const Arguments&) { return Value(capitalized(s.string())); }},
    {"count", [](const Value& s,
                 const Arguments& a) { return Value(count_occurrences(s.string(), a.need(0, "sub").string())); }},
    {"endswith",
     [](const Value& s, const Arguments& a) {
       return any_affix(a, [&](const std::string& affix) { return s.string().ends_with(affix); });
     }},
    {"find",
     [](const Value& s, const Arguments& a) {
       const size_t at = find_text(s.string(), a.need(0, "sub").string(), 0);
       return Value(at == std::string::npos ? int64_t{-1} : Value(s.string().substr(0, at)).length());
     }},
    {"join",
     [](const Value& s, const Arguments& a) { return Value(joined(a.need(0, "iterable").elements(), s.string())); }},
    {"lower", [](const Value& s, const Arguments&) { return Value(lowered(s.string())); }},
    {"lstrip",
     [](const Value& s, const Arguments& a) {
       return Value(stripped(s.string(), text_argument(a, 0, "chars"), true, false));
     }},
    {"replace",
     [](const Value& s, const Arguments& a) {
       const auto count = a.find(2, "count");
       return Value(
           replaced(s.string(), a.need(0, "old").string(), a.need(1, "new").string(), count ? count->integer() : -1));
     }},
    {"rsplit",
     [](const Value& s, const Arguments& a) {
       return to_values(split_from_end(s.string(), text_argument(a, 0, "sep"), limit_argument(a)));
     }},
    {"rstrip",
     [](const Value& s, const Arguments& a) {
       return Value(stripped(s.string(), text_argument(a, 0, "chars"), false, true));
     }},
    {"split",
     [](const Value& s, const Arguments& a) {
       return to_values(split(s.string(), text_argument(a, 0, "sep"), limit_argument(a)));
     }},
    {"splitlines", [](const Value& s, const Arguments&) { return to_values(split_lines(s.string())); }},
    {"startswith",
     [](const Value& s, const Arguments& a) {
       return any_affix(a, [&](const std::string& affix) { return s.string().starts_with(affix); });
     }},
    {"strip", [](const Value& s,
                 const Arguments& a) { return Value(stripped(s.string(), text_argument(a, 0, "chars"), true, true)); }},
    {"title", [](const Value& s, const Arguments&) { return Value(titled(s.string())); }},
    {"upper", [](const Value& s, const Arguments&) { return Value(uppered(s.string())); }},
});

constexpr auto kDictMethods = std::to_array<NamedMethod>({
    {"get",
     [](const Value& d, const Arguments& a) {
       const Value key = a.need(0, "key");
       const Value* member = key.is_string() ? d.member(key.string()) : nullptr;
       return member ? *member : a.find(1, "default").value_or(None{});
     }},
    {"items",
     [](const Value& d, const Arguments&) {
       List list;
       for (const auto& [key, value] : d.dict()) list.emplace_back(List{Value(key), value});
       return Value(std::move(list));
     }},
    {"keys", [](const Value& d, const Arguments&) { return Value(d.elements()); }},
    {"values",
     [](const Value& d, const Arguments&) {
       List list;
       for (const auto& [key, value] : d.dict()) list.push_back(value);
       return Value(std::move(list));
     }},
});

constexpr auto kListMethods = std::to_array<NamedMethod>({
    {"count",
     [](const Value& l, const Arguments& a) {
       const Value wanted = a.need(0, "value");
       return Value(int64_t{std::ranges::count_if(l.list(), [&](const Value& x) { return equal(x, wanted); })});
     }},
    {"index",
     [](const Value& l, const Arguments& a) {
       const Value wanted = a.need(0, "value");
       const auto at = std::ranges::find_if(l.list(), [&](const Value& x) { return equal(x, wanted); });
       if (at == l.list().end()) throw Failure("list.index: the value is not in the list");
       return Value(int64_t{at - l.list().begin()});
     }},
});

template <class Table>
std::optional<Value> bind(const Table& table, const Value& object, std::string_view name) {
  for (const NamedMethod& entry : table)
    if (entry.name == name)
      return Value::make_method(
          object, [object, method = entry.method](const Arguments& arguments) { return method(object, arguments); });
  return {};
}

Value range(const Arguments& arguments) {
  const bool has_only_stop = arguments.positional.size() == 1;
  const int64_t begin = has_only_stop ? 0 : arguments.need(0, "start").integer(),
                end = arguments.need(has_only_stop ? 0 : 1, "stop").integer();
  const int64_t step = arguments.positional.size() > 2 ? arguments.positional[2].integer() : 1;
  if (step == 0) throw Failure("range: the step is 0");
  List list;
  for (int64_t i = begin; step > 0 ? i < end : i > end;) {
    if (list.size() >= kMaxRange) throw Failure(fmt::format("range: more than {} numbers", kMaxRange));
    list.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return list;
}

Dict members(const Arguments& arguments) {
  Dict dict = arguments.positional.empty() ? Dict() : arguments.positional[0].dict();
  for (const auto& [name, value] : arguments.named) {
    charge(kEntryBytes * dict.size());
    const auto old = std::ranges::find(dict, name, &Dict::value_type::first);
    if (old == dict.end())
      dict.emplace_back(name, value);
    else
      old->second = value;
  }
  return dict;
}

Value strftime_now(const Arguments& arguments) {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char text[256];
  const size_t length = std::strftime(text, sizeof(text), arguments.need(0, "format").string().c_str(), &local);
  return std::string(text, length);
}

}  // namespace

std::optional<Value> find_method(const Value& object, std::string_view name) {
  if (object.is_string()) return bind(kStringMethods, object, name);
  if (object.is_dict()) return bind(kDictMethods, object, name);
  if (object.is_list()) return bind(kListMethods, object, name);
  return {};
}

Dict global_functions() {
  return {{"range", Value(Function(range))},
          {"dict", Value(Function([](const Arguments& a) { return Value(members(a)); }))},
          {"namespace", Value(Function([](const Arguments& a) { return Value::make_namespace(members(a)); }))},
          {"raise_exception", Value(Function([](const Arguments& a) -> Value {
             throw Failure(fmt::format("the template refuses: {}", a.need(0, "message").text()));
           }))},
          {"strftime_now", Value(Function(strftime_now))}};
}

}  // namespace roll::jinja
