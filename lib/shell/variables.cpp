#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "shell/arithmetic.h"
#include "shell/interpreter.h"
#include "shell/levels.h"

namespace roll::shell {

namespace {

constexpr size_t kLongestText = 64 << 10, kMostFields = 10'000;

}  // namespace

void Interpreter::set(const std::string& name, Variable value) {
  if (!state_.doubt.empty())
    for (Field& field : value.fields)
      field.text = unknowns_.mark({Unknown::Kind::kChoice, name + ", which depends on " + state_.doubt, field.place});
  state_.variables[name] = std::move(value);
}

const Interpreter::Variable* Interpreter::find(const std::string& name) const {
  const auto found = state_.variables.find(name);
  return found == state_.variables.end() ? nullptr : &found->second;
}

std::string Interpreter::environment(const std::string& name, Place place) {
  return unknowns_.mark({Unknown::Kind::kVariable, name, place});
}

std::string Interpreter::unknown_text(const std::string& why, Place place) {
  return unknowns_.mark({Unknown::Kind::kChoice, why, place});
}

/// X="$X more" of an X that nobody has set begins with nothing.
std::string Interpreter::without_itself(const std::string& name, const std::string& text) const {
  if (!has_unknown(text) || is_always_set(name) || find(name)) return text;
  const std::string rest = unknowns_.filled(text, [&](const Unknown& unknown) {
    return unknown.kind == Unknown::Kind::kVariable && unknown.text == name ? std::string()
                                                                            : unknowns_.mark_of(unknown);
  });
  return rest.empty() ? text : rest;
}

/// NAME=word, NAME+=word, NAME[...]=word, NAME=( ... ), NAME+=( ... ).
void Interpreter::assign(const Word& word) {
  const size_t equals = assignment_at(word.text);
  const bool appends = word.text[equals - 1] == '+';
  std::string name = word.text.substr(0, equals - (appends ? 1 : 0)), subscript;
  if (const size_t bracket = name.find('['); bracket != std::string::npos) {
    subscript = name.substr(bracket + 1, name.size() - bracket - 2);
    name.resize(bracket);
  }
  const Variable* known = find(name);
  Variable value = known && (appends || !subscript.empty()) ? *known : Variable{};
  spend(64 * value.fields.size(), word.place);
  if (word.is_array) {
    Fields added = expand(word.elements);
    value.fields.insert(value.fields.end(), added.begin(), added.end());
    value.is_array = true;
  } else {
    const std::string text = without_itself(name, expand_one({word.text.substr(equals + 1), word.place}));
    size_t index = 0;
    if (!subscript.empty()) {
      const auto wanted = index_of(subscript, value.fields.size(), word.place);
      if (!wanted || *wanted >= kMostFields)
        return set(name, unknown_text(name + "[" + subscript + "]", word.place), word.place);
      index = *wanted;
      value.is_array = true;
    }
    if (value.fields.size() <= index) value.fields.resize(index + 1, {"", word.place});
    value.fields[index] = {appends ? value.fields[index].text + text : text, word.place};
  }
  for (const Field& field : value.fields)
    if (field.text.size() > kLongestText || value.fields.size() > kMostFields)
      throw user_error(
          "{}: {}: more than {} KB in a variable, or {} words in an array; this is not a script that starts a training",
          text_of(word.place), name, kLongestText >> 10, kMostFields);
  set(name, std::move(value));
}

std::optional<int64_t> Interpreter::number_of(const std::string& expression, Place place) {
  const Deeper deeper(*this, place);
  std::string text = expand_quoted(expression, place);
  std::erase(text, '"');
  const NumberVariables variables{[&](const std::string& name) -> std::optional<std::string> {
                                    spend(expression.size(), place);
                                    const Variable* known = find(name);
                                    if (!known) return std::nullopt;
                                    return known->fields.empty() ? std::string() : known->fields[0].text;
                                  },
                                  [&](const std::string& name, const std::string& value) { set(name, value, place); }};
  return evaluate(text, variables);
}

std::optional<size_t> Interpreter::index_of(const std::string& subscript, size_t size, Place place) {
  const auto index = number_of(subscript, place);
  if (!index) return std::nullopt;
  const int64_t from_begin = *index < 0 ? *index + static_cast<int64_t>(size) : *index;
  return from_begin < 0 ? std::nullopt : std::optional(static_cast<size_t>(from_begin));
}

}  // namespace roll::shell
