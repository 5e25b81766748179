#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "shell/interpreter.h"
#include "shell/levels.h"
#include "shell/pattern.h"

namespace roll::shell {

Interpreter::Interpreter(Reading reading) : reading_(std::move(reading)) {
  for (const auto& [name, value] : reading_.environment) set(name, value, {});
  for (const std::string& value : reading_.arguments) state_.arguments.given.push_back({value, {}});
  state_.arguments.has_more = reading_.has_more_arguments;
}

void Interpreter::run(std::string_view text, const std::string& origin, int first_line) {
  files_.push_back(origin);
  run(parse(text, origin, static_cast<int>(files_.size()) - 1, first_line));
}

std::string Interpreter::text_of(Place place) const {
  return fmt::format("{}:{}", origin_of(place.file), place.line);
}

void Interpreter::spend(size_t work, Place place) {
  work_ += work + 64;
  if (work_ > kMostWork)
    throw user_error("{}: runs too long, or grows too large, to be a script that starts a training", text_of(place));
}

/// The work of a copy.
size_t Interpreter::State::size() const {
  size_t num_parts = functions.size() + arguments.given.size();
  for (const auto& [name, variable] : variables) num_parts += 1 + variable.fields.size();
  return 64 * num_parts;
}

Truth Interpreter::run(const NodePtr& node) {
  if (flow_ != Flow::kOn) return Truth::kUnknown;
  const Deeper deeper(*this, node->place);
  spend(0, node->place);
  return run_node(*node);
}

Truth Interpreter::run_node(const Node& node) {
  switch (node.kind) {
    case Kind::kCommand:
      return run_command(node);
    case Kind::kSequence:
      return run_sequence(node);
    case Kind::kAndOr:
      return run_and_or(node);
    case Kind::kPipeline:
      for (const NodePtr& part : node.parts) run_apart([&] { return run(part); });
      output_is_known_ = false;
      return Truth::kUnknown;
    case Kind::kNot: {
      const Truth truth = run(node.parts[0]);
      return truth == Truth::kUnknown ? truth : truth == Truth::kYes ? Truth::kNo : Truth::kYes;
    }
    case Kind::kIf:
      return run_if(node, 0);
    case Kind::kWhile:
    case Kind::kUntil:
      return run_while(node);
    case Kind::kFor:
      return run_for(node);
    case Kind::kCountedFor:
      return run_counted_for(node);
    case Kind::kCase:
      return run_case(node, 0);
    case Kind::kFunction:
      state_.functions[node.words[0].text] = node.parts[0];
      return Truth::kYes;
    case Kind::kSubshell:
      return run_apart([&] { return run(node.parts[0]); });
    case Kind::kTest:
      return test_words(node.words);
    case Kind::kArithmetic: {
      const auto value = number_of(node.words[0].text, node.place);
      return !value ? Truth::kUnknown : *value != 0 ? Truth::kYes : Truth::kNo;
    }
  }
  return Truth::kUnknown;
}

Truth Interpreter::run_sequence(const Node& node) {
  Truth last = Truth::kYes;
  for (const NodePtr& part : node.parts) {
    if (flow_ != Flow::kOn) break;
    last = run(part);
  }
  return last;
}

/// Of a command whose success is not known both ways are gone: where it ends `a && b`, it mostly has succeeded, but
/// what `b` sets is then unknown.
Truth Interpreter::run_and_or(const Node& node) {
  Truth last = run(node.parts[0]);
  for (size_t i = 1; i < node.parts.size() && flow_ == Flow::kOn; ++i) {
    const bool is_and = node.signs[i - 1] == '&';
    if (last == Truth::kUnknown) {
      const auto runs = [&] { return run(node.parts[i]); };
      const auto skips = [&] { return is_and ? Truth::kNo : Truth::kYes; };
      last = run_either(runs, skips, "whether a command succeeds", node.parts[i - 1]->place);
    } else if ((last == Truth::kYes) == is_and) {
      last = run(node.parts[i]);
    }
  }
  return last;
}

Truth Interpreter::run_if(const Node& node, size_t from) {
  if (from == node.parts.size()) return Truth::kYes;
  if (from + 1 == node.parts.size()) return run(node.parts[from]);
  const Truth truth = run(node.parts[from]);
  const auto then = [&] { return run(node.parts[from + 1]); };
  const auto otherwise = [&] {
    const Deeper deeper(*this, node.place);
    return run_if(node, from + 2);
  };
  if (flow_ != Flow::kOn) return Truth::kUnknown;
  if (truth != Truth::kUnknown) return truth == Truth::kYes ? then() : otherwise();
  return run_either(then, otherwise, "the condition", node.parts[from]->place);
}

bool Interpreter::run_body(const NodePtr& body) {
  run(body);
  const bool ends = flow_ == Flow::kBreak || flow_ == Flow::kReturn || flow_ == Flow::kExit;
  if (flow_ == Flow::kBreak || flow_ == Flow::kContinue) flow_ = Flow::kOn;
  return !ends;
}

Truth Interpreter::run_while(const Node& node) {
  for (;;) {
    const Truth truth = run(node.parts[0]);
    if (flow_ != Flow::kOn) return Truth::kUnknown;
    if (truth == Truth::kUnknown)
      return run_either([&] { return run_body(node.parts[1]), Truth::kUnknown; }, [] { return Truth::kUnknown; },
                        "the condition", node.parts[0]->place);
    if ((truth == Truth::kYes) != (node.kind == Kind::kWhile)) return Truth::kYes;
    if (!run_body(node.parts[1])) return Truth::kUnknown;
  }
}

Truth Interpreter::run_for(const Node& node) {
  const std::string& name = node.words[0].text;
  const Fields values = node.over_arguments ? state_.arguments.given
                                            : expand(std::vector<Word>(node.words.begin() + 1, node.words.end()));
  for (const Field& value : values) {
    set(name, value.text, value.place);
    const auto once = [&] { return run_body(node.parts[0]) ? Truth::kYes : Truth::kNo; };
    const bool is_known = unknowns_.known(value.text).has_value() || values.size() > 1;
    const Truth goes_on = is_known ? once()
                                   : run_either(
                                         once, [] { return Truth::kYes; }, "what the loop goes over", node.place);
    if (flow_ != Flow::kOn || goes_on == Truth::kNo) break;
  }
  return Truth::kUnknown;
}

Truth Interpreter::run_counted_for(const Node& node) {
  number_of(node.words[0].text, node.place);
  for (;;) {
    const std::string& condition = node.words[1].text;
    const bool is_endless = condition.find_first_not_of(" \t\n") == std::string::npos;
    const auto value = is_endless ? 1 : number_of(condition, node.place);
    if (!value)
      return run_either([&] { return run_body(node.parts[0]), Truth::kUnknown; }, [] { return Truth::kUnknown; },
                        "the condition", node.place);
    if (*value == 0 || !run_body(node.parts[0])) return Truth::kUnknown;
    number_of(node.words[2].text, node.place);
  }
}

Truth Interpreter::run_case(const Node& node, size_t from) {
  const auto subject = unknowns_.known(expand_one(node.words[0]));
  for (size_t i = from; i < node.parts.size(); ++i) {
    Truth fits = subject ? Truth::kNo : Truth::kUnknown;
    for (const Word& word : node.patterns[i]) {
      const auto pattern = unknowns_.known(expand_one(word, /*as_pattern=*/true));
      spend((subject ? subject->size() : 1) * (pattern ? pattern->size() : 1), word.place);
      if (!pattern)
        fits = fits == Truth::kNo ? Truth::kUnknown : fits;
      else if (*pattern == "*" || (subject && matches_pattern(*subject, *pattern)))
        fits = Truth::kYes;
    }
    if (fits == Truth::kYes) return run(node.parts[i]);
    if (fits == Truth::kUnknown)
      return run_either([&] { return run(node.parts[i]); },
                        [&] {
                          const Deeper deeper(*this, node.place);
                          return run_case(node, i + 1);
                        },
                        "the case", node.place);
  }
  return Truth::kYes;
}

Truth Interpreter::run_apart(const std::function<Truth()>& what) {
  spend(state_.size(), {});
  State kept = state_;
  const Truth truth = what();
  state_ = std::move(kept);
  flow_ = Flow::kOn;
  return truth;
}

Truth Interpreter::run_either(const std::function<Truth()>& yes, const std::function<Truth()>& no,
                              const std::string& condition, Place place) {
  const std::string why = fmt::format("{} of {}", condition, text_of(place));
  spend(2 * state_.size(), place);
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
  output_is_known_ = false;
  if (flow_yes == Flow::kExit && flow_no == Flow::kExit) return flow_ = Flow::kExit, Truth::kUnknown;
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

void Interpreter::merge(const State& other, const std::string& condition, Place place) {
  const auto is_same = [](const Variable* a, const Variable* b) {
    if (!a || !b) return a == b;
    return a->is_array == b->is_array && std::ranges::equal(a->fields, b->fields, {}, &Field::text, &Field::text);
  };
  std::set<std::string> names;
  for (const State* state : {static_cast<const State*>(&state_), &other})
    for (const auto& [name, variable] : state->variables) names.insert(name);
  for (const std::string& name : names) {
    const auto mine = std::as_const(state_).variables.find(name), theirs = other.variables.find(name);
    const Variable* const a = mine == state_.variables.cend() ? nullptr : &mine->second;
    const Variable* const b = theirs == other.variables.end() ? nullptr : &theirs->second;
    if (is_same(a, b)) continue;
    const std::string unknown =
        unknowns_.mark({Unknown::Kind::kChoice, fmt::format("{}, which depends on {}", name, condition), place});
    state_.variables[name] = {{{unknown, place}}};
  }
  for (const auto& [name, body] : other.functions) state_.functions.emplace(name, body);
  if (state_.folder != other.folder)
    state_.folder = unknowns_.mark({Unknown::Kind::kChoice, "the folder after " + condition, place});
}

Truth Interpreter::run_text(const std::string& text, const std::string& origin, int file, int line) {
  if (has_unknown(text)) return output_is_known_ = false, Truth::kUnknown;
  spend(text.size(), {file, line});
  return run(parse(text, origin, file, line));
}

}  // namespace roll::shell
