#include "base/shell.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"

namespace roll {

namespace {

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("_-+=./:,@%").find(c) != std::string_view::npos;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text;
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return fmt::format("'{}'", text);
}

/// Returns true if the text starts with a \ that escapes the next character.
bool escapes(std::string_view text, char quote) {
  if (text[0] != '\\' || text.size() < 2 || quote == '\'') return false;
  return !quote || std::string_view("\"\\$`").find(text[1]) != std::string_view::npos;
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += fmt::format("{}{}", line.empty() ? "" : " ", quoted(word));
  return line;
}

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (!quote && std::isspace(static_cast<unsigned char>(c))) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (escapes(line.substr(i), quote))
      words.back() += line[++i];
    else if (quote ? c == quote : c == '\'' || c == '"')
      quote = quote ? 0 : c;
    else
      words.back() += c;
  }
  if (quote) throw user_error("the quote {} is not closed", quote);
  return words;
}

}  // namespace roll
