#include "reward/ifeval/checked_text.h"

#include "reward/text_measures.h"

namespace roll::ifeval {

std::vector<std::string_view> Expressions::find_all(std::string_view expression, std::string_view text) {
  auto found = compiled_.find(expression);
  if (found == compiled_.end())
    found = compiled_.emplace(expression, Regex(expression, {.unicode_classes = true, .timed = true})).first;
  std::vector<Span> spans;
  found->second.find_all(text, memory_, spans);
  std::vector<std::string_view> matches;
  for (const Span& span : spans) matches.push_back(text.substr(span.begin, span.end - span.begin));
  return matches;
}

CheckedText::CheckedText(std::string_view text, Expressions& expressions)
    : text_(text), lowered_(lower(text)), expressions_(expressions) {}

std::vector<std::string_view> CheckedText::find_all(std::string_view expression) const {
  return expressions_.find_all(expression, text_);
}

int64_t CheckedText::count(std::string_view expression) const {
  return std::ssize(find_all(expression));
}

}  // namespace roll::ifeval
