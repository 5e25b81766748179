#include "text/pattern.h"

#include "base/error.h"
#include "text/pattern_syntax.h"

namespace roll {

namespace {

Regex compile(std::string_view expression, const std::string& name, const std::string& where) {
  try {
    return Regex(translate_pattern(expression, where), {.multiline = true, .unicode_classes = true});
  } catch (const RegexError& e) {
    throw user_error("{}: {}; repair it", name, e.what());
  }
}

}  // namespace

Pattern Pattern::literal(std::string_view text, const std::string& where) {
  return Pattern(Regex(text, {.literal = true}), fmt::format("{}: string '{}'", where, text), true);
}

Pattern Pattern::regex(std::string_view expression, const std::string& where) {
  std::string name = fmt::format("{}: regular expression '{}'", where, expression);
  Regex regex = compile(expression, name, where);
  return Pattern(std::move(regex), std::move(name), false);
}

void Pattern::find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const {
  try {
    regex_.find_all(text, memory, matches);
  } catch (const MatchFailed& e) {
    throw user_error("{} fails on a text of {} bytes: {}", name_, text.size(), e.what());
  }
}

Pattern read_pattern(const JsonView& json) {
  if (const auto regex = json.get("Regex")) return Pattern::regex(regex->string(), regex->where());
  if (const auto text = json.get("String")) return Pattern::literal(text->string(), text->where());
  json.fail("must be {\"Regex\": ...} or {\"String\": ...}");
}

}  // namespace roll
