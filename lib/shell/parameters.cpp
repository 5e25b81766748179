// Expands $NAME and ${NAME...}.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <span>

#include "shell/interpreter.h"
#include "shell/pattern.h"

namespace roll::shell {

namespace {

std::optional<std::string> change_case(std::string text, bool is_upper, bool is_all) {
  if (has_unknown(text)) return std::nullopt;
  for (char& c : std::span(text).first(is_all ? text.size() : std::min<size_t>(1, text.size())))
    c = static_cast<char>(is_upper ? std::toupper(static_cast<unsigned char>(c))
                                   : std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Removes a matching prefix or suffix; nullopt if unknown text could change the cut.
std::optional<std::string> remove_match(std::string_view text, const std::string& pattern, bool is_front,
                                        bool is_longest) {
  if (has_unknown(pattern)) return std::nullopt;
  const size_t first = text.find('\x01'), last = text.rfind('\x02');
  for (size_t i = 0; i <= text.size(); ++i) {
    const size_t at = is_front == is_longest ? text.size() - i : i;
    if (!matches_pattern(is_front ? text.substr(0, at) : text.substr(at), pattern)) continue;
    const bool from_begin = is_front != is_longest;  // cuts were tried from the beginning
    if (first != text.npos && (from_begin ? at > first : at <= last)) return std::nullopt;
    return std::string(is_front ? text.substr(at) : text.substr(0, at));
  }
  return first == text.npos ? std::optional(std::string(text)) : std::nullopt;
}

}  // namespace

struct Interpreter::Parameter {
  std::string name;
  Place place;
  std::string written;                        // "${NAME...}"
  std::optional<std::string> subscript = {};  // inside [ ]
  Fields values = {};                         // empty: unset

  bool is_joined() const { return name == "*" || subscript == "*"; }
  bool is_list() const { return is_joined() || name == "@" || subscript == "@"; }
  bool is_unset() const { return values.empty() && is_name(name) && !is_list(); }
  void set_to(const std::string& text) { values = {{text, place}}; }
};

std::string Interpreter::unknown_text(const std::string& why, Place place) {
  return unknowns_.mark({Unknown::Kind::kOther, why, place});
}

std::string Interpreter::environment(const std::string& name, Place place) {
  return unknowns_.mark({Unknown::Kind::kVariable, name, place});
}

Interpreter::Fields Interpreter::parameter_values(const Parameter& parameter) {
  const std::string& name = parameter.name;
  const Place place = parameter.place;
  const Arguments& arguments = state_.arguments;
  if (name == "@" || name == "*") return arguments.values;
  if (name == "#" && arguments.has_more)
    return {{unknown_text("$#, the number of the script's arguments", place), place}};
  if (name == "#") return {{fmt::format("{}", arguments.values.size()), place}};
  if (name == "0") return {{reading_.path, place}};
  if (name == "BASH_SOURCE") return {{place.file == 0 ? reading_.path : place_file(place), place}};
  if (std::isdigit(static_cast<unsigned char>(name[0]))) {
    const auto index = static_cast<size_t>(std::atoi(name.substr(0, 4).c_str()));
    if (index >= 1 && index <= arguments.values.size()) return {arguments.values[index - 1]};
    if (!arguments.has_more) return {};
    const int64_t position = static_cast<int64_t>(index) + arguments.num_shifted;
    return {{unknown_text(fmt::format("${}, an argument of the script", position), place), place}};
  }
  if (!is_name(name)) return {{unknown_text(parameter.written, place), place}};
  const Fields* values = find(name);
  if (!values) return is_always_set(name) ? Fields{{environment(name, place), place}} : Fields{};
  const bool is_unknown = values->size() == 1 && has_unknown((*values)[0].text);
  if (parameter.is_list() || is_unknown) return *values;
  const auto index = array_index(parameter.subscript.value_or("0"), values->size());
  if (!index) return {{unknown_text(parameter.written, place), place}};
  return *index < values->size() ? Fields{(*values)[*index]} : Fields{};
}

void Interpreter::read_name(Builder& builder, const std::string& name, bool in_quotes) {
  if (!runs()) return;
  Parameter parameter{name, builder.place, "${" + name + "}"};
  parameter.values = parameter_values(parameter);
  add(builder, parameter, in_quotes);
}

/// Adds the parameter's values as words; an unset one's value comes from the environment.
void Interpreter::add(Builder& builder, const Parameter& parameter, bool in_quotes) {
  Fields values = parameter.values;
  if (parameter.is_unset()) values = {{environment(parameter.name, parameter.place), parameter.place}};
  if (values.empty() || !parameter.is_joined() || !in_quotes) return builder.append_values(values, in_quotes);
  std::string joined_values = values[0].text;
  for (size_t i = 1; i < values.size(); ++i) joined_values += builder.separators.substr(0, 1) + values[i].text;
  builder.append_value(joined_values, values[0].place, in_quotes);
}

/// Reads a parameter after "${".
void Interpreter::read_braces(Builder& builder, bool in_quotes) {
  if (cursor_.take("}")) return;
  const auto takes = [&](const std::string& sign) { return !cursor_.is_at(sign + "}") && cursor_.take(sign); };
  Parameter parameter{"", builder.place, ""};
  if (runs()) parameter.written = "${" + text_ahead("}") + "}";
  const bool is_length = takes("#"), is_indirect = takes("!");
  parameter.name = cursor_.take_name();
  if (parameter.name.empty()) parameter.name = cursor_.next();
  if (cursor_.take("[")) {
    parameter.subscript = quoted_text("]", '[');
    cursor_.expect("]");
  }
  if (runs()) parameter.values = parameter_values(parameter);
  if (runs() && is_indirect) {
    const bool is_one = parameter.values.size() == 1 && !parameter.is_list();
    parameter.name = is_one ? parameter.values[0].text : "";
    parameter.values = parameter_values(parameter);
  }
  spend(32 * parameter.values.size());
  const std::string_view sign = cursor_.rest().substr(cursor_.is_at(":") ? 1 : 0, 1);
  bool has_word = false;
  if (is_length && runs())
    parameter.set_to(parameter_length(parameter));
  else if (!sign.empty() && std::string_view("-=+?").find(sign) != std::string_view::npos)
    has_word = read_default(builder, parameter, in_quotes);
  else if (!cursor_.is_at("}"))
    read_changes(parameter);
  if (runs() && !has_word) add(builder, parameter, in_quotes);
  cursor_.expect("}");
}

std::string Interpreter::parameter_length(const Parameter& parameter) {
  const Fields& values = parameter.values;
  const auto known = values.empty() ? std::optional(std::string()) : unknowns_.known(values[0].text);
  const bool is_known = parameter.is_list() ? values.size() != 1 || !has_unknown(values[0].text) : known.has_value();
  const size_t length = parameter.is_list() ? values.size() : known.value_or("").size();
  return is_known ? fmt::format("{}", length) : unknown_text(parameter.written, parameter.place);
}

/// Expands ${NAME:-word} etc.; returns true if the result is `word`.
bool Interpreter::read_default(Builder& builder, Parameter& parameter, bool in_quotes) {
  const Place place = parameter.place;
  const Fields& values = parameter.values;
  const bool has_colon = cursor_.take(":");
  const char sign = cursor_.next();
  std::optional<bool> is_missing = values.empty();
  if (has_colon && values.size() == 1) is_missing = unknowns_.is_empty(values[0].text);
  // ${NAME:-} in a script that is read as if its caller had set the variable.
  const bool leaves_to_caller =
      parameter.is_unset() && sign == '-' && reading_.has_more_arguments && cursor_.is_at("}");
  const bool takes_word = is_missing && *is_missing != (sign == '+') && sign != '?' && !leaves_to_caller;
  {
    const auto taken = live_if(takes_word);
    Builder word{.place = place};
    read_text(runs() && sign != '=' ? builder : word, "}", in_quotes || sign == '=');
    if (runs() && sign == '=') {
      set(parameter.name, word.text, place);
      builder.append_value(word.text, place, in_quotes);
    }
  }
  if (!is_missing)
    parameter.set_to(unknown_text(parameter.written, place));
  else if (leaves_to_caller && reading_.assumed_set.contains(parameter.name))
    parameter.set_to(environment(parameter.name, place));
  else if (leaves_to_caller)
    parameter.set_to(unknowns_.mark({Unknown::Kind::kBlank, parameter.name, place}));
  else if (sign == '+')
    parameter.set_to("");
  return takes_word;
}

/// Applies ${NAME#pattern}, ${NAME/from/to}, ${NAME^^} or ${NAME:1:2}.
void Interpreter::read_changes(Parameter& parameter) {
  const Place place = parameter.place;
  const char sign = cursor_.next();
  if (parameter.is_unset() && runs()) parameter.set_to(environment(parameter.name, place));
  if (sign == ':') return read_slice(parameter);
  const bool is_cut = sign == '#' || sign == '%', is_twice = cursor_.take(std::string_view(&sign, 1));
  Builder from{.place = place, .makes_pattern = is_cut}, to{.place = place};
  read_text(from, sign == '/' ? "/}" : "}", /*in_quotes=*/false);
  if (sign == '/' && cursor_.take("/")) read_text(to, "}", /*in_quotes=*/false);
  for (Field& value : parameter.values) {
    const size_t size = value.text.size();
    spend(is_cut ? (size + 1) * (size + 4) / 4 * std::max<size_t>(1, from.text.size() / 8) : size);
    std::optional<std::string> changed;
    if (is_cut)
      changed = remove_match(value.text, from.text, sign == '#', is_twice);
    else if (sign == '/')
      changed = replaced(value.text, from.text, to.text, is_twice);
    else if (sign == '^' || sign == ',')
      changed = change_case(value.text, sign == '^', is_twice);
    value.text = changed ? *changed : unknown_text(parameter.written, place);
  }
}

std::optional<std::string> Interpreter::replaced(const std::string& value, const std::string& from,
                                                 const std::string& to, bool is_all) {
  const bool is_pattern =
      from.empty() || from.find_first_of("*?[\\") != from.npos || (!is_all && (from[0] == '#' || from[0] == '%'));
  if (is_pattern || has_unknown(value + from + to)) return std::nullopt;
  std::string text;
  size_t at = 0;
  for (size_t found = value.find(from); found != value.npos; found = is_all ? value.find(from, at) : value.npos) {
    text += value.substr(at, found - at) + to;
    spend(to.size());
    at = found + from.size();
  }
  return text + value.substr(at);
}

/// Applies ${NAME:first:count} to a text or list; the script's arguments count from 1.
void Interpreter::read_slice(Parameter& parameter) {
  const Place place = parameter.place;
  const std::string from = quoted_text(":}");
  const bool has_count = cursor_.take(":"), is_list = parameter.is_list();
  const std::string number = has_count ? quoted_text("}") : "";
  if (!runs()) return;
  auto first = parse_number(from);
  const auto count = parse_number(number);
  Fields& values = parameter.values;
  const bool is_known = first && count && (is_list ? *count >= 0 : values.size() == 1 && !has_unknown(values[0].text));
  if (!is_known) return parameter.set_to(unknown_text(parameter.written, place));
  if (is_list && !parameter.subscript && *first > 0) --*first;
  const int64_t size = is_list ? std::ssize(values) : std::ssize(values[0].text);
  const int64_t begin = std::clamp<int64_t>(*first < 0 ? size + std::max(*first, -size) : *first, 0, size);
  const int64_t end = !has_count   ? size
                      : *count < 0 ? size + std::max(*count, -size)
                                   : begin + std::min(*count, size - begin);
  if (is_list)
    values = Fields(values.begin() + begin, values.begin() + end);
  else
    values[0].text =
        begin < end ? values[0].text.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)) : "";
}

}  // namespace roll::shell
