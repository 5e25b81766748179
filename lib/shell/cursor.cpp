#include "shell/cursor.h"

#include <array>

namespace roll::shell {

Cursor::Cursor(std::string text, std::string name, Place begin)
    : source_(std::make_shared<Source>(Source{std::move(text), std::move(name), begin})) {
  for (size_t i = 0; i < source_->text.size(); ++i)
    if (source_->text[i] == '\n') source_->line_ends.push_back(i);
}

Place Cursor::place() const {
  const auto& ends = source_->line_ends;
  return {source_->begin.file,
          source_->begin.line + static_cast<int>(std::ranges::lower_bound(ends, at_) - ends.begin())};
}

UserError Cursor::error(std::string_view problem) const {
  return user_error("{}:{}: {}: this is not valid shell syntax", source_->name, place().line, problem);
}

bool Cursor::take(std::string_view sign) {
  if (!is_at(sign)) return false;
  at_ += sign.size();
  return true;
}

std::string Cursor::take_name() {
  const size_t begin = at_;
  while (is_name_char(peek())) ++at_;
  return source_->text.substr(begin, at_ - begin);
}

void Cursor::skip_blanks() {
  while (is_blank(peek()) || is_at("\\\n")) at_ += peek() == '\\' ? 2 : 1;
  if (peek() == '#') at_ = std::min(source_->text.find('\n', at_), source_->text.size());
}

void Cursor::skip_lines() {
  for (skip_blanks(); is_at("\n"); skip_blanks()) {
    const auto next_line = source_->after_documents.find(at_);
    at_ = next_line == source_->after_documents.end() ? at_ + 1 : next_line->second;
  }
}

std::string_view Cursor::plain_word() const {
  const std::string_view remaining = rest();
  return remaining.substr(0, static_cast<size_t>(std::ranges::find_if(remaining, ends_word) - remaining.begin()));
}

bool Cursor::take_word(std::string_view word) {
  skip_blanks();
  return plain_word() == word && take(word);
}

void Cursor::expect(std::string_view word_or_sign) {
  skip_lines();
  const bool is_sign = !is_name_char(word_or_sign[0]);
  if (is_sign ? !take(word_or_sign) : !take_word(word_or_sign))
    throw error(fmt::format("`{}` is missing", word_or_sign));
}

std::string Cursor::document(const std::string& last, bool strips_tabs) {
  const std::string_view text = source_->text;
  const auto [known, is_new] = source_->documents.try_emplace(at_);
  if (!is_new) return known->second;
  size_t line_end = std::min(text.find('\n', at_), text.size());
  while (line_end < text.size() && line_end > 0 && text[line_end - 1] == '\\')
    line_end = std::min(text.find('\n', line_end + 1), text.size());
  size_t& next_line = source_->after_documents.try_emplace(line_end, std::min(line_end + 1, text.size())).first->second;
  for (bool ended = false; !ended && next_line < text.size();) {
    const size_t end = std::min(text.find('\n', next_line), text.size());
    std::string_view line = text.substr(next_line, end - next_line);
    if (strips_tabs) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
    ended = line == last;
    if (!ended) known->second.append(line).append("\n");
    next_line = std::min(end + 1, text.size());
  }
  return known->second;
}

bool Cursor::is_at_assignment() const {
  Cursor lookahead = *this;
  if (!is_name(lookahead.take_name())) return false;
  if (lookahead.take("["))
    for (int depth = 1; depth > 0 && !lookahead.is_end();) {
      const char c = lookahead.next();
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    }
  lookahead.take("+");
  return lookahead.is_at("=");
}

}  // namespace roll::shell
