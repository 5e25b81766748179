// Reading position in the text of a shell script, used by the interpreter's parser. Copies of a Cursor share the text.
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

/// Text of a script, or of code inside it. All positions are byte offsets in `text`.
struct Source {
  std::string text;
  std::string name;                    // file's name, for messages
  Place begin;                         // file and line of the first byte
  std::vector<size_t> line_ends = {};  // positions of all '\n'
  std::map<size_t, std::string> documents =
      {};  // here-documents' texts, keyed by the position after the delimiter word
  std::map<size_t, size_t> after_documents = {};  // end of a line with here-documents -> begin of the line after them
};

inline constexpr std::string_view kEndsOfWords = " \t\r\n;&|()<>";
inline bool ends_word(char c) {
  return kEndsOfWords.find(c) != kEndsOfWords.npos;
}

class Cursor {
 public:
  /// Makes a cursor without text, which may only be assigned to.
  Cursor() = default;
  /// Makes a cursor at the beginning of `text`. `name`: the file's name, for messages; `begin`: place of the first
  /// byte.
  Cursor(std::string text, std::string name, Place begin);

  bool is_end() const { return at_ == source_->text.size(); }
  /// Returns the next character; '\0' at the end. next() also moves past it.
  char peek() const { return source_->text[at_]; }
  char next() { return is_end() ? '\0' : source_->text[at_++]; }
  void skip(size_t count) { at_ = std::min(at_ + count, source_->text.size()); }
  /// Returns true if the text continues with `sign`, or with one of the characters `signs`.
  bool is_at(std::string_view sign) const { return rest().starts_with(sign); }
  bool is_at_any(std::string_view signs) const { return !is_end() && signs.find(peek()) != signs.npos; }
  /// Returns true and skips `sign` if the text continues with it.
  bool take(std::string_view sign);
  /// Skips letters, digits and underscores, and returns them; may return "".
  std::string take_name();
  /// Skips blanks, backslash-newlines, and then a comment.
  void skip_blanks();
  /// Skips blanks, comments, line ends, and the texts of here-documents that follow a line.
  void skip_lines();
  /// Skips blanks; then skips `word`, such as `{`, and returns true if it is the next unquoted word.
  bool take_word(std::string_view word);
  /// Returns the text from here to the next character that ends a word, without moving; quotes are not removed.
  std::string_view plain_word() const;
  /// Calls skip_lines(), then skips this word or sign. Throws UserError if something else follows.
  void expect(std::string_view word_or_sign);
  /// Returns the text of a here-document. Call it directly after its delimiter word: this position identifies the
  /// document. The text begins on the next line and ends before the line `last`. `strips_tabs`: leading tabs are
  /// removed, as for <<-. skip_lines() then skips the text.
  std::string document(const std::string& last, bool strips_tabs);
  /// Returns true at "NAME=", "NAME+=" or "NAME[...]=".
  bool is_at_assignment() const;

  /// Returns the text from here to the end.
  std::string_view rest() const { return std::string_view(source_->text).substr(at_); }
  /// Returns the text from `begin`, an earlier copy, up to this position; size_since() returns its number of bytes.
  std::string since(const Cursor& begin) const { return source_->text.substr(begin.at_, at_ - begin.at_); }
  size_t size_since(const Cursor& begin) const { return at_ - begin.at_; }
  /// Compares the positions of two cursors in the same text.
  bool is_same(const Cursor& other) const { return at_ == other.at_; }
  /// Returns file and line of this position.
  Place place() const;
  /// Returns UserError "script:12: problem: this is not valid shell syntax", which the caller throws.
  UserError error(std::string_view problem) const;

 private:
  std::shared_ptr<Source> source_;
  size_t at_ = 0;
};

}  // namespace roll::shell
