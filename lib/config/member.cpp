#include "config/member.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "config/range.h"
#include "config/scalar.h"

namespace roll {

namespace {

/// True for plain text. Quoted text is not a number or boolean.
bool is_plain(const Node& node) {
  return node.kind == Node::Kind::kScalar && !node.quoted;
}

/// Stores `value` in `out`; without a value, returns the error "<needed> is needed".
template <class T>
BadValue store_value(const Node& node, const std::optional<T>& value, T& out, const char* needed,
                     const std::string& advice) {
  if (!value) return {fmt::format("{} is needed, this is {}{}", needed, describe(node), advice)};
  out = *value;
  return {};
}

/// Returns "; write 1000" for 1e3 where a whole number is needed; else "".
std::string whole_number_advice(const Node& node) {
  const auto number = node.quoted ? std::nullopt : parse_number(node.text);
  if (!number || !(std::abs(*number) < 1e15) || *number != std::floor(*number)) return "";
  return fmt::format("; write {}", static_cast<int64_t>(*number));
}

}  // namespace

BadValue MemberType::read(const Node&, void*) const {
  throw Bug("only scalars are read as one");
}
std::string MemberType::text(const void*) const {
  throw Bug("only scalars have a text");
}

BadValue read_scalar(const Node& node, bool& out) {
  return store_value(node, is_plain(node) ? parse_bool(node.text) : std::nullopt, out, "true or false", "");
}
BadValue read_scalar(const Node& node, int64_t& out) {
  return store_value(node, is_plain(node) ? parse_whole(node.text) : std::nullopt, out, "a whole number",
                     whole_number_advice(node));
}
BadValue read_scalar(const Node& node, double& out) {
  return store_value(node, is_plain(node) ? parse_number(node.text) : std::nullopt, out, "a number", "");
}
BadValue read_scalar(const Node& node, std::string& out) {  // numbers may be text: a name such as 7
  return store_value(node, node.kind == Node::Kind::kScalar ? std::optional(node.text) : std::nullopt, out, "text", "");
}

std::string scalar_text(bool value) {
  return value ? "true" : "false";
}
std::string scalar_text(int64_t value) {
  return fmt::format("{}", value);
}
std::string scalar_text(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return fmt::format("{}", value);
}
std::string scalar_text(const std::string& value) {
  return value;
}

BadValue not_one_word(const Node& node) {
  return {fmt::format("one word is needed, this is {}", describe(node))};
}

BadValue read_from_text(const Node& node, const std::function<void(const std::string& text)>& read) {
  if (node.kind == Node::Kind::kNull || node.kind == Node::Kind::kMap)
    return {fmt::format("text or a list is needed, this is {}", describe(node))};
  try {
    read(node.kind == Node::Kind::kList ? flow_text(node) : node.text);
  } catch (const UserError& e) {
    return {e.what()};
  }
  return {};
}

BadValue not_an_allowed_word(const std::string& text, const std::vector<std::string>& words) {
  return {fmt::format("must be one of {}{}", fmt::join(words, ", "), did_you_mean(text, words))};
}

bool AnyMember::is_group() const {
  using enum MemberType::Shape;
  return type->shape == kGroup || type->shape == kMap || (type->shape == kList && type->inner->shape == kGroup);
}

bool AnyMember::is_null() const {
  bool is_there = type->shape != MemberType::Shape::kOptional;
  each([&](const std::string&, const AnyMember&) { is_there = true; });
  return !is_there;
}

std::string AnyMember::text() const {
  if (type->shape == MemberType::Shape::kScalar) return type->text(at);
  if (type->shape != MemberType::Shape::kOptional) return "...";
  std::string text = "null";
  each([&](const std::string&, const AnyMember& value) { text = value.text(); });
  return text;
}

void AnyMember::each(const std::function<void(const std::string& name, const AnyMember& entry)>& f) const {
  type->each(at, [&](const std::string& name, void* entry) { f(name, {entry, *type->inner}); });
}

std::string AnyMember::entry_path(const std::string& path, const std::string& name) const {
  return type->shape == MemberType::Shape::kList ? fmt::format("{}[{}]", path, name) : path + "." + name;
}

std::vector<std::string> AnyMember::words() const {
  const MemberType* innermost = type;
  while (innermost->inner && innermost->shape != MemberType::Shape::kMap) innermost = innermost->inner;
  return innermost->words();
}

std::optional<double> outside(const Range& range, const AnyMember& member) {
  std::optional<double> wrong;
  const auto check_number = [&](double value) {
    if (!range.holds(value)) wrong = value;
  };
  if (member.type->id == typeid(double)) check_number(*static_cast<const double*>(member.at));
  if (member.type->id == typeid(int64_t)) check_number(static_cast<double>(*static_cast<const int64_t*>(member.at)));
  member.each([&](const std::string&, const AnyMember& entry) {
    if (!wrong) wrong = outside(range, entry);
  });
  return wrong;
}

}  // namespace roll
