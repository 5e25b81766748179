#include "jinja/context.h"

#include <fmt/format.h>

#include "jinja/budget.h"
#include "jinja/functions.h"

namespace roll::jinja {

namespace {

constexpr int kMaxMacroDepth = 50;

}  // namespace

Context::Context(Dict variables) {
  scopes_.emplace_back();
  // The caller's variables override functions.
  for (auto& [name, function] : global_functions()) scopes_.front()[name] = function;
  for (auto& [name, value] : variables) scopes_.front()[name] = std::move(value);
}

Value Context::get(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    charge(kEntryBytes);
    if (const auto found = scope->find(name); found != scope->end()) return found->second;
  }
  return Undefined{fmt::format("'{}'", name)};
}

void Context::set(const std::string& name, Value value) {
  scopes_.back()[name] = std::move(value);
}

void Context::write(std::string_view text) {
  charge(text.size());
  check_length(out_.append(text).size());
}

void Context::begin_step(int line) {
  line_ = line;
  charge(kStepBytes);
}

void Context::check_depth() const {
  if (depth_ > kMaxMacroDepth) throw Failure(fmt::format("macros call each other more than {} deep", kMaxMacroDepth));
}

}  // namespace roll::jinja
