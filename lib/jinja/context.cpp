#include "jinja/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "jinja/functions.h"

namespace roll::jinja {

namespace {

// A second or two. A thousand messages take some ten thousand steps.
constexpr int64_t kMaxSteps = 10'000'000;
constexpr int kMaxMacroDepth = 50;

}  // namespace

Context::Context(Dict variables) {
  Dict outermost = global_functions();
  std::ranges::move(variables, std::back_inserter(outermost));
  scopes_.push_back(std::move(outermost));
}

Value Context::get(const std::string& name) const {
  for (const Dict& scope : std::views::reverse(scopes_))
    for (const auto& [known, value] : std::views::reverse(scope))  // a variable given by the caller hides a function
      if (known == name) return value;
  return Undefined{fmt::format("'{}'", name)};
}

void Context::set(const std::string& name, Value value) {
  Dict& scope = scopes_.back();
  const auto old = std::ranges::find(scope, name, &Dict::value_type::first);
  if (old != scope.end())
    old->second = std::move(value);
  else
    scope.emplace_back(name, std::move(value));
}

void Context::write(std::string_view text) {
  check_length(out_.append(text).size());
}

void Context::at(int line) {
  line_ = line;
  spend(1);
}

void Context::spend(int64_t steps) {
  if ((steps_ += steps) > kMaxSteps) throw Failure(fmt::format("the template takes more than {} steps", kMaxSteps));
}

void Context::check_depth() const {
  if (depth_ > kMaxMacroDepth) throw Failure(fmt::format("macros call each other more than {} deep", kMaxMacroDepth));
}

}  // namespace roll::jinja
