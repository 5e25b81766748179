#include "text/pattern.h"

#include "base/error.h"
#include "text/pattern_syntax.h"
#include "text/unicode.h"

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

Pattern Pattern::literal(std::string text) {
  return Pattern(std::move(text), std::nullopt);
}

Pattern Pattern::regex(std::string_view expression, const std::string& where) {
  const std::string name = fmt::format("{}: regular expression '{}'", where, expression);
  return Pattern(name, compile(expression, name, where));
}

std::optional<Span> Pattern::find(std::string_view text, size_t from, MatchMemory& memory) const {
  if (!regex_) {
    const size_t at = text.find(text_, from);
    return at == std::string_view::npos ? std::nullopt : std::optional(Span{at, at + text_.size()});
  }
  try {
    return regex_->find(text, from, memory);
  } catch (const MatchFailed& e) {
    throw user_error("{} fails on a text of {} bytes: {}", text_, text.size(), e.what());
  }
}

void Pattern::find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const {
  size_t last_end = std::string_view::npos;
  for (size_t from = 0; from <= text.size();) {
    const std::optional<Span> match = find(text, from, memory);
    if (!match) return;
    from = match->end;
    if (match->begin == match->end && match->end == last_end) {
      if (from == text.size()) return;
      next_code_point(text, from);
      continue;
    }
    last_end = match->end;
    matches.push_back(*match);
  }
}

Pattern read_pattern(const JsonView& json) {
  if (const auto regex = json.get("Regex")) return Pattern::regex(regex->string(), regex->where());
  if (const auto text = json.get("String")) return Pattern::literal(text->string());
  json.fail("must be {\"Regex\": ...} or {\"String\": ...}");
}

}  // namespace roll
