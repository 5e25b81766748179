// Variables, and merging of states after unknown conditions.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "shell/arithmetic.h"
#include "shell/interpreter.h"

namespace roll::shell {

namespace {

constexpr size_t kLongestText = 64 << 10, kMostFields = 10'000;

}  // namespace

void Interpreter::set(const std::string& name, Fields values) {
  if (!state_.doubt.empty())
    for (Field& value : values) value.text = unknown_text(name + ", which depends on " + state_.doubt, value.place);
  state_.variables[name] = std::move(values);
}

const Interpreter::Fields* Interpreter::find(const std::string& name) const {
  const auto found = state_.variables.find(name);
  return found == state_.variables.end() ? nullptr : &found->second;
}

std::optional<Interpreter::Fields> Interpreter::copy_variable(const std::string& name) const {
  const Fields* found = find(name);
  return found ? std::optional(*found) : std::nullopt;
}

void Interpreter::restore(const Variables& values) {
  for (const auto& [name, value] : values)
    if (value)
      state_.variables[name] = *value;
    else
      state_.variables.erase(name);
}

/// Reads NAME=word, NAME+=word, NAME[...]=word, NAME=( ... ) or NAME+=( ... ).
void Interpreter::read_assignment() {
  const Place place = cursor_.place();
  const std::string name = cursor_.take_name();
  std::optional<std::string> subscript;
  if (cursor_.take("[")) {
    subscript = quoted_text("]", '[');
    cursor_.expect("]");
  }
  const bool appends = cursor_.take("+");
  cursor_.expect("=");
  Builder elements = builder(/*splits=*/true);
  const bool is_array = cursor_.take("(");
  if (is_array) {
    for (cursor_.skip_lines(); !cursor_.take(")"); cursor_.skip_lines()) {
      if (cursor_.is_end()) throw cursor_.error("`)` of an array is missing");
      if (ends_word(cursor_.peek())) throw cursor_.error(fmt::format("'{}' in an array", cursor_.peek()));
      read_word(elements);
    }
  } else
    elements.fields = {{read_value(), place}};
  if (runs()) assign(name, subscript, appends, is_array, std::move(elements.fields));
}

void Interpreter::assign(const std::string& name, const std::optional<std::string>& subscript, bool appends,
                         bool is_array, Fields added) {
  const Place place = added.empty() ? cursor_.place() : added[0].place;
  Fields values = appends || subscript ? copy_variable(name).value_or(Fields{}) : Fields{};
  spend(64 * values.size());
  if (is_array) {
    std::ranges::move(added, std::back_inserter(values));
  } else {
    std::string& text = added[0].text;
    // In X="$X more", an unset X counts as empty.
    if (has_unknown(text) && !is_always_set(name) && !find(name))
      if (std::string rest = unknowns_.without(text, name); !rest.empty()) text = rest;
    const auto index = array_index(subscript.value_or("0"), values.size());
    if (!index || *index >= kMostFields)
      return set(name, unknown_text(name + "[" + subscript.value_or("") + "]", place), place);
    if (values.size() <= *index) values.resize(*index + 1, {"", place});
    values[*index] = {appends ? values[*index].text + text : text, place};
  }
  for (const Field& value : values)
    if (value.text.size() > kLongestText || values.size() > kMostFields)
      throw user_error(
          "{}: {}: more than {} KB in a variable, or {} words in an array; this is not a script that starts a training",
          place_text(place), name, kLongestText >> 10, kMostFields);
  set(name, std::move(values));
}

std::optional<int64_t> Interpreter::parse_number(const std::string& expanded) {
  const NumberVariables variables{
      [&](const std::string& name) -> std::optional<std::string> {
        spend(expanded.size() + 64);
        const Fields* known = find(name);
        if (!known) return std::nullopt;
        return known->empty() ? std::string() : (*known)[0].text;
      },
      [&](const std::string& name, const std::string& value) { set(name, value, cursor_.place()); }};
  return evaluate(expanded, variables);
}

std::optional<size_t> Interpreter::array_index(const std::string& subscript, size_t size) {
  const auto index = parse_number(subscript);
  if (!index) return std::nullopt;
  const int64_t from_begin = *index < 0 ? *index + static_cast<int64_t>(size) : *index;
  return from_begin < 0 ? std::nullopt : std::optional(static_cast<size_t>(from_begin));
}

/// Work of copying the state.
size_t Interpreter::State::size() const {
  size_t num_parts = functions.size() + arguments.values.size();
  for (const auto& [name, values] : variables) num_parts += 1 + values.size();
  return 64 * num_parts;
}

Truth Interpreter::in_subshell(const Branch& branch) {
  if (!runs()) return branch();
  spend(state_.size());
  const Scoped state(state_, State(state_));
  const Scoped flow(flow_, Flow::kOn);
  return branch();
}

Truth Interpreter::run_either(Truth truth, const Branch& yes, const Branch& no, std::string_view condition,
                              Place place) {
  if (runs() && truth == Truth::kUnknown)
    return run_both(yes, no, fmt::format("{} of {}", condition, place_text(place)), place);
  const auto run_if = [&](const Branch& taken, Truth wanted) {
    const auto live = live_if(truth == wanted);
    return taken();
  };
  const Truth if_yes = run_if(yes, Truth::kYes), if_no = run_if(no, Truth::kNo);
  return truth == Truth::kYes ? if_yes : if_no;
}

Truth Interpreter::run_both(const Branch& yes, const Branch& no, const std::string& why, Place place) {
  spend(2 * state_.size());
  const State before = state_;
  const std::string exit_before = exit_place_;
  const size_t num_calls = calls_.size();
  const Truth if_yes = yes();
  const Flow flow_yes = std::exchange(flow_, Flow::kOn);
  State after_yes = std::exchange(state_, before);
  const Truth if_no = no();
  const Flow flow_no = flow_;
  for (size_t i = num_calls; i < calls_.size(); ++i)
    if (calls_[i].condition.empty()) calls_[i].condition = why;
  output_.is_known = false;
  if (flow_yes == Flow::kExit && flow_no == Flow::kExit) return Truth::kUnknown;
  flow_ = Flow::kOn;
  exit_place_ = exit_before;
  if (flow_yes == Flow::kExit) return if_no;
  if (flow_no == Flow::kExit) return state_ = std::move(after_yes), if_yes;
  merge(after_yes, why, place);
  if (flow_yes == flow_no)
    flow_ = flow_yes;
  else
    state_.doubt = why;
  return if_yes == if_no ? if_yes : Truth::kUnknown;
}

void Interpreter::merge(const State& other, const std::string& why, Place place) {
  std::set<std::string> names;
  for (const State* state : {static_cast<const State*>(&state_), &other})
    for (const auto& [name, values] : state->variables) names.insert(name);
  for (const std::string& name : names) {
    const Fields* const own_value = find(name);
    const auto other_value = other.variables.find(name);
    const bool is_same = own_value && other_value != other.variables.end() &&
                         std::ranges::equal(*own_value, other_value->second, {}, &Field::text, &Field::text);
    if (!is_same) state_.variables[name] = {{unknown_text(name + ", which depends on " + why, place), place}};
  }
  for (const auto& [name, body] : other.functions) state_.functions.emplace(name, body);
  if (state_.folder != other.folder) state_.folder = unknown_text("the folder after " + why, place);
}

}  // namespace roll::shell
