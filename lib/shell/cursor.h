// Reading position in the text of a script, used by the interpreter's parser.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "shell/names.h"
#include "shell/unknown.h"

namespace roll::shell {

struct Source {
  std::string text, name;
  Place begin;
  std::vector<size_t> line_ends = {};
  std::map<size_t, std::string> documents = {};   // here-documents, keyed by the position of their <<
  std::map<size_t, size_t> after_documents = {};  // end of a line with here-documents -> begin of the line after them
};

inline constexpr std::string_view kEndsOfWords = " \t\r\n;&|()<>";
inline bool ends_word(char c) {
  return kEndsOfWords.find(c) != kEndsOfWords.npos;
}

class Cursor {
 public:
  Cursor() = default;
  Cursor(std::string text, std::string name, Place begin);

  bool is_end() const { return at_ == source_->text.size(); }
  char peek() const { return source_->text[at_]; }  // '\0' at the end
  char next() { return is_end() ? '\0' : source_->text[at_++]; }
  void skip(size_t count) { at_ = std::min(at_ + count, source_->text.size()); }
  bool is_at(std::string_view sign) const { return rest().starts_with(sign); }
  bool is_at_any(std::string_view signs) const { return !is_end() && signs.find(peek()) != signs.npos; }
  /// Skips `sign` if it is here, and returns whether it was.
  bool take(std::string_view sign);
  /// Takes letters, digits and underscores; may return "".
  std::string take_name();
  /// Skips blanks, comments and backslash-newlines.
  void skip_blanks();
  /// Skips blanks, comments and line ends, with the here-documents below a line.
  void skip_lines();
  /// Skips blanks and takes `word`, such as `{`, if it is the next unquoted word; else returns false.
  bool take_word(std::string_view word);
  /// Returns the text from here to the next character that ends a word; quotes are not removed.
  std::string_view plain_word() const;
  /// Skips lines and takes a word or sign. UserError: something else is here.
  void expect(std::string_view word_or_sign);
  /// Returns the here-document whose << is at this position; it ends at the line `last`.
  std::string document(const std::string& last, bool strips_tabs);
  /// Returns true at "NAME=", "NAME+=" or "NAME[...]=".
  bool is_at_assignment() const;

  std::string_view rest() const { return std::string_view(source_->text).substr(at_); }
  std::string since(const Cursor& begin) const { return source_->text.substr(begin.at_, at_ - begin.at_); }
  size_t size_since(const Cursor& begin) const { return at_ - begin.at_; }
  bool is_same(const Cursor& other) const { return at_ == other.at_; }
  /// Returns file and line of this position.
  Place place() const;
  /// Returns the UserError "script:12: problem: this is not valid shell syntax".
  UserError error(std::string_view problem) const;

 private:
  std::shared_ptr<Source> source_;
  size_t at_ = 0;
};

}  // namespace roll::shell
