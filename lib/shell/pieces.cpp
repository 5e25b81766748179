#include <algorithm>
#include <cctype>

#include "shell/syntax.h"

namespace roll::shell {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_name_char(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

bool is_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) && std::ranges::all_of(text, is_name_char);
}

size_t assignment_at(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && is_name_char(text[at])) ++at;
  if (!is_name(text.substr(0, at)) || at == text.size()) return text.npos;
  if (text[at] == '[') at = end_of_brackets(text, at, '[', ']');
  if (text.substr(at, 1) == "+") ++at;
  return text.substr(at, 1) == "=" ? at : text.npos;
}

// Brackets in brackets are counted, and quotes in them skipped, without recursion: how deep they nest is the script's.
size_t end_of_brackets(std::string_view text, size_t at, char open, char close) {
  size_t depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\') {
      ++at;
    } else if (c == '\'') {
      at = std::min(text.find('\'', at + 1), text.size());
    } else if (c == '"') {
      at = end_of_quotes(text, at) - 1;
    } else if (c == open) {
      ++depth;
    } else if (c == close && --depth == 0) {
      return at + 1;
    }
  }
  return text.size();
}

namespace {

/// In double quotes a $( or ${ may hold quotes of its own; their brackets are counted with them.
struct Opened {
  std::string stack;  // of '"', ')' and '}', the sign that closes each

  void take(std::string_view text, size_t& at) {
    const char c = text[at];
    const bool in_quotes = !stack.empty() && stack.back() == '"';
    if (c == '\\') {
      ++at;
    } else if (!stack.empty() && c == stack.back()) {
      stack.pop_back();
    } else if (c == '"') {
      stack += '"';
    } else if (c == '\'' && !in_quotes) {
      at = std::min(text.find('\'', at + 1), text.size());
    } else if (c == '$' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{')) {
      stack += text[++at] == '(' ? ')' : '}';
    } else if (c == '(' && !stack.empty() && stack.back() == ')') {
      stack += ')';
    }
  }
};

size_t end_of_opened(std::string_view text, size_t at) {
  Opened opened;
  for (; at < text.size(); ++at) {
    opened.take(text, at);
    if (opened.stack.empty()) return std::min(at + 1, text.size());
  }
  return text.size();
}

}  // namespace

size_t end_of_quotes(std::string_view text, size_t at) {
  if (text[at] == '\'') return std::min(text.find('\'', at + 1), text.size() - 1) + 1;
  return end_of_opened(text, at);
}

size_t end_of_backticks(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '`'; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

size_t end_of_dollar(std::string_view text, size_t at) {
  const char next = at + 1 < text.size() ? text[at + 1] : ' ';
  if (next == '(' || next == '{') return end_of_opened(text, at);
  if (next == '\'') {
    for (at += 2; at < text.size() && text[at] != '\''; ++at)
      if (text[at] == '\\') ++at;
    return std::min(at + 1, text.size());
  }
  if (std::string_view("@*#?$!-0123456789").find(next) != std::string_view::npos) return at + 2;
  size_t end = at + 1;
  while (end < text.size() && is_name_char(text[end])) ++end;
  return end;
}

}  // namespace roll::shell
