// ${NAME...}: which values, and what is made of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "shell/builder.h"
#include "shell/interpreter.h"
#include "shell/levels.h"
#include "shell/pattern.h"

namespace roll::shell {

struct Interpreter::Parameter {
  std::string name, subscript, operation;
  bool is_length = false, is_indirect = false;
  bool is_list = false;    // [@], [*], $@ or $*
  bool is_joined = false;  // with '*'
  std::string written;

  explicit Parameter(std::string_view inside) : written("${" + std::string(inside) + "}") {
    if (inside.size() > 1 && inside[0] == '#') {
      is_length = true;
      inside.remove_prefix(1);
    }
    if (inside.size() > 1 && inside[0] == '!') {
      is_indirect = true;
      inside.remove_prefix(1);
    }
    size_t end = 0;
    while (end < inside.size() && is_name_char(inside[end])) ++end;
    if (end == 0 && !inside.empty()) end = 1;
    name = inside.substr(0, end);
    if (inside.substr(end, 1) == "[") {
      const size_t close = end_of_brackets(inside, end, '[', ']');
      subscript = inside.substr(end + 1, close - end - 2);
      end = close;
    }
    operation = inside.substr(end);
    is_joined = name == "*" || subscript == "*";
    is_list = is_joined || name == "@" || subscript == "@";
  }
};

/// Empty: not set, and so nothing.
Interpreter::Fields Interpreter::values_of(const Parameter& parameter, Place place) {
  const std::string& name = parameter.name;
  const Arguments& arguments = state_.arguments;
  if (name == "@" || name == "*") return arguments.given;
  if (name == "#" && arguments.has_more)
    return {{unknown_text("$#, the number of the script's arguments", place), place}};
  if (name == "#") return {{fmt::format("{}", arguments.given.size()), place}};
  if (name == "0") return {{reading_.path, place}};
  if (name == "BASH_SOURCE") return {{place.file == 0 ? reading_.path : origin_of(place.file), place}};
  if (std::isdigit(static_cast<unsigned char>(name[0]))) {
    size_t index = 0;
    for (const char c : name.substr(0, 4)) index = 10 * index + static_cast<size_t>(c - '0') % 10;
    if (index >= 1 && index <= arguments.given.size()) return {arguments.given[index - 1]};
    if (!arguments.has_more) return {};
    const int64_t position = static_cast<int64_t>(index) + arguments.num_shifted;
    return {{unknown_text(fmt::format("${}, an argument of the script", position), place), place}};
  }
  if (!is_name(name)) return {{unknown_text("$" + name, place), place}};
  const Variable* variable = find(name);
  if (!variable) return is_always_set(name) ? Fields{{environment(name, place), place}} : Fields{};
  const bool is_unknown = variable->fields.size() == 1 && has_unknown(variable->fields[0].text);
  if (parameter.is_list || is_unknown) return variable->fields;
  const auto index = parameter.subscript.empty() ? 0 : index_of(parameter.subscript, variable->fields.size(), place);
  if (!index) return {{unknown_text(parameter.written, place), place}};
  return *index < variable->fields.size() ? Fields{variable->fields[*index]} : Fields{};
}

void Interpreter::expand_braces(Builder& builder, std::string_view inside, Place place, bool in_quotes) {
  if (inside.empty()) return;
  const Deeper deeper(*this, place);
  Parameter parameter(inside);
  if (parameter.is_indirect) {
    const Fields name = values_of(parameter, place);
    if (name.size() != 1 || !is_name(name[0].text) || parameter.is_list)
      return builder.value(unknown_text(parameter.written, place), place, in_quotes);
    parameter.name = name[0].text;
  }
  const Fields values = values_of(parameter, place);
  spend(32 * values.size(), place);
  if (parameter.is_length) {
    const auto known = values.empty() ? std::optional(std::string()) : unknowns_.known(values[0].text);
    const size_t length = parameter.is_list ? values.size() : known.value_or("").size();
    const bool is_known = parameter.is_list ? values.size() != 1 || !has_unknown(values[0].text) : known.has_value();
    return builder.value(is_known ? fmt::format("{}", length) : unknown_text(parameter.written, place), place,
                         in_quotes);
  }
  if (expand_default(builder, parameter, values, place, in_quotes)) return;
  Fields made = values;
  if (parameter.is_list && parameter.operation.starts_with(":")) {
    slice(made, parameter, place);
    parameter.operation.clear();
  }
  if (values.empty() && !parameter.is_list && is_name(parameter.name))
    made = {{environment(parameter.name, place), place}};
  for (Field& value : made)
    if (!parameter.operation.empty()) value.text = changed(value.text, parameter.operation, place);
  if (!parameter.is_list)
    return builder.value(made.empty() ? "" : made[0].text, made.empty() ? place : made[0].place, in_quotes);
  if (!parameter.is_joined || !in_quotes) return builder.list(made, in_quotes);
  std::string all;
  const std::string between = separators().substr(0, 1);
  for (size_t i = 0; i < made.size(); ++i) all += (i > 0 ? between : "") + made[i].text;
  builder.value(all, place, in_quotes);
}

/// ${NAME[@]:first:count}; of the arguments the first is 1.
void Interpreter::slice(Fields& values, const Parameter& parameter, Place place) {
  const std::string_view operation = std::string_view(parameter.operation).substr(1);
  const size_t colon = std::min(operation.find(':'), operation.size());
  const auto size = static_cast<int64_t>(values.size());
  const auto first = number_of(std::string(operation.substr(0, colon)), place);
  const auto count =
      colon == operation.size() ? std::optional(size) : number_of(std::string(operation.substr(colon + 1)), place);
  if (!first || !count || *count < 0) return void(values = {{unknown_text(parameter.written, place), place}});
  const int64_t from_zero = parameter.subscript.empty() && *first > 0 ? *first - 1 : *first;
  const int64_t begin = std::clamp<int64_t>(from_zero < 0 ? size + std::max(from_zero, -size) : from_zero, 0, size);
  const int64_t end = begin + std::min(*count, size - begin);
  values = Fields(values.begin() + begin, values.begin() + end);
}

/// ${NAME:-word} and its like; false: it is none of them, or the value stands.
bool Interpreter::expand_default(Builder& builder, const Parameter& parameter, const Fields& values, Place place,
                                 bool in_quotes) {
  const std::string_view operation = parameter.operation;
  const bool has_colon = operation.starts_with(":");
  const char sign = operation.size() > (has_colon ? 1U : 0U) ? operation[has_colon ? 1 : 0] : ' ';
  if (std::string_view("-=+?").find(sign) == std::string_view::npos) return false;
  std::optional<bool> is_missing = values.empty();
  if (has_colon && values.size() == 1) is_missing = unknowns_.is_empty(values[0].text);
  if (!is_missing) return builder.value(unknown_text(parameter.written, place), place, in_quotes), true;
  const bool is_unset = values.empty() && *is_missing && is_name(parameter.name) && !parameter.is_list;
  if (is_unset && sign == '?') return builder.value(environment(parameter.name, place), place, in_quotes), true;
  // ${NAME:-} of a script that is read as if its caller had given what it asks for.
  if (is_unset && sign == '-' && reading_.has_more_arguments && operation.size() == (has_colon ? 2U : 1U)) {
    const auto kind = reading_.given.contains(parameter.name) ? Unknown::Kind::kVariable : Unknown::Kind::kBlank;
    return builder.value(unknowns_.mark({kind, parameter.name, place}), place, in_quotes), true;
  }
  if (sign == '?') return *is_missing ? false : (keep(builder, parameter, values, in_quotes), true);
  if (*is_missing == (sign == '+')) {
    if (sign != '+') keep(builder, parameter, values, in_quotes);
    return true;
  }
  if (sign != '+' && !*is_missing) return keep(builder, parameter, values, in_quotes), true;
  const std::string_view word = operation.substr(has_colon ? 2 : 1);
  const bool has_quotes = word.find('"') != word.npos;
  if (sign == '=') {
    const std::string text = has_quotes ? expand_one({std::string(word), place}) : expand_quoted(word, place);
    set(parameter.name, text, place);
    return builder.value(text, place, in_quotes), true;
  }
  if (in_quotes && has_quotes)
    builder.literal(expand_one({std::string(word), place}));
  else
    expand_into(builder, word, place, in_quotes);
  return true;
}

void Interpreter::keep(Builder& builder, const Parameter& parameter, const Fields& values, bool in_quotes) {
  if (parameter.is_list && !parameter.is_joined) return builder.list(values, in_quotes);
  for (const Field& value : values) builder.value(value.text, value.place, in_quotes);
}

std::string Interpreter::changed(const std::string& value, std::string_view operation, Place place) {
  spend(value.size(), place);
  if (operation[0] == '#' || operation[0] == '%') return cut(value, operation, place);
  if (operation[0] == '/') return replaced(value, operation, place);
  if (operation[0] == ':') return substring(value, operation.substr(1), place);
  const bool is_upper = operation[0] == '^', is_case = is_upper || operation[0] == ',';
  if (!is_case || has_unknown(value)) return unknown_text("${..." + std::string(operation) + "}", place);
  std::string text = value;
  for (size_t i = 0; i < (operation.size() > 1 ? text.size() : std::min<size_t>(1, text.size())); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    text[i] = static_cast<char>(is_upper ? std::toupper(c) : std::tolower(c));
  }
  return text;
}

/// ${NAME#pattern}, ##, %, %%. What is unknown may stand in what is kept or cut, but not decide where.
std::string Interpreter::cut(const std::string& value, std::string_view operation, Place place) {
  const bool is_front = operation[0] == '#', is_longest = operation.substr(1, 1) == operation.substr(0, 1);
  const std::string pattern =
      expand_one({std::string(operation.substr(is_longest ? 2 : 1)), place}, /*as_pattern=*/true);
  spend((value.size() + 1) * value.size() / 4 * std::max<size_t>(1, pattern.size() / 8), place);
  if (has_unknown(pattern)) return unknown_text("${..." + std::string(operation) + "}", place);
  const std::string_view text = value;
  const size_t first = text.find('\x01'), last = text.rfind('\x02');
  for (size_t i = 0; i <= text.size(); ++i) {
    const size_t at = is_front == is_longest ? text.size() - i : i;
    const std::string_view gone = is_front ? text.substr(0, at) : text.substr(at);
    if (!matches_pattern(gone, pattern)) continue;
    const bool from_begin = is_front != is_longest;  // places were tried from there
    if (first != text.npos && (from_begin ? at > first : at <= last))
      return unknown_text("${..." + std::string(operation) + "}", place);
    return std::string(is_front ? text.substr(at) : text.substr(0, at));
  }
  return first == text.npos ? value : unknown_text("${..." + std::string(operation) + "}", place);
}

std::string Interpreter::replaced(const std::string& value, std::string_view operation, Place place) {
  const bool is_all = operation.starts_with("//");
  const std::string_view rest = operation.substr(is_all ? 2 : 1);
  size_t slash = 0;
  while (slash < rest.size() && rest[slash] != '/') slash += rest[slash] == '\\' ? 2 : 1;
  slash = std::min(slash, rest.size());
  const std::string from = expand_one({std::string(rest.substr(0, slash)), place});
  const std::string to = slash == rest.size() ? "" : expand_one({std::string(rest.substr(slash + 1)), place});
  const std::string plain = from.starts_with('\\') ? from.substr(1) : from;
  if (has_unknown(value + from + to) || plain.empty() || plain.find_first_of("*?[\\") != std::string::npos ||
      (!is_all && (plain[0] == '#' || plain[0] == '%')))
    return unknown_text("${..." + std::string(operation) + "}", place);
  std::string text;
  for (size_t at = 0;;) {
    const size_t found = value.find(plain, at);
    if (found == std::string::npos) return text + value.substr(at);
    text += value.substr(at, found - at) + to;
    spend(to.size(), place);
    at = found + plain.size();
    if (!is_all) return text + value.substr(at);
  }
}

std::string Interpreter::substring(const std::string& value, std::string_view operation, Place place) {
  const size_t colon = std::min(operation.find(':'), operation.size());
  const auto first = number_of(std::string(operation.substr(0, colon)), place);
  const auto count = colon == operation.size() ? std::optional<int64_t>(static_cast<int64_t>(value.size()))
                                               : number_of(std::string(operation.substr(colon + 1)), place);
  if (!first || !count || has_unknown(value)) return unknown_text("${...:" + std::string(operation) + "}", place);
  const auto size = static_cast<int64_t>(value.size());
  const int64_t begin = std::clamp<int64_t>(*first < 0 ? size + std::max(*first, -size) : *first, 0, size);
  const int64_t end = *count < 0 ? size + std::max(*count, -size) : begin + std::min(*count, size - begin);
  return begin < end ? value.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)) : "";
}

}  // namespace roll::shell
