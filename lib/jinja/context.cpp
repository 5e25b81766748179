#include "jinja/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "jinja/budget.h"
#include "jinja/functions.h"

namespace roll::jinja {

namespace {

constexpr int kMaxMacroDepth = 50;

}  // namespace

Context::Context(Dict variables) {
  Dict outermost = global_functions();
  std::move(variables.begin(), variables.end(), std::back_inserter(outermost));
  scopes_.push_back(std::move(outermost));
}

Value Context::get(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    charge(kEntryBytes * scope->size());
    // A variable given by the caller hides a function.
    const auto last =
        std::find_if(scope->rbegin(), scope->rend(), [&](const auto& entry) { return entry.first == name; });
    if (last != scope->rend()) return last->second;
  }
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
  charge(text.size());
  check_length(out_.append(text).size());
}

void Context::at(int line) {
  line_ = line;
  charge(kStepBytes);
}

void Context::check_depth() const {
  if (depth_ > kMaxMacroDepth) throw Failure(fmt::format("macros call each other more than {} deep", kMaxMacroDepth));
}

}  // namespace roll::jinja
