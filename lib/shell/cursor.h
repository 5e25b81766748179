// A place in the text of a script, and the signs that stand there.
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
  std::map<size_t, std::string> documents = {};  // here-documents, by where the script asks for each
  std::map<size_t, size_t> behind = {};          // where a line ends above here-documents: the line below these
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
  bool take(std::string_view sign);
  std::string take_name();
  /// Blanks, comments, and ends of lines that a backslash takes away.
  void skip_blanks();
  /// The same and ends of lines; here-documents stand below the line that asks for them.
  void skip_lines();
  /// A word without quotes in it, such as `{`, behind blanks; false: it does not stand there.
  bool take_word(std::string_view word);
  std::string_view plain_word() const;
  void expect(std::string_view word_or_sign);
  /// The here-document that a script asks for at this place, up to a line that is `last`.
  std::string document(const std::string& last, bool strips_tabs);
  /// "NAME=", "NAME+=" or "NAME[...]=" stands here.
  bool is_at_assignment() const;

  std::string_view rest() const { return std::string_view(source_->text).substr(at_); }
  std::string since(const Cursor& begin) const { return source_->text.substr(begin.at_, at_ - begin.at_); }
  size_t size_since(const Cursor& begin) const { return at_ - begin.at_; }
  bool is_same(const Cursor& other) const { return at_ == other.at_; }
  Place place() const;
  UserError error(std::string_view what) const;

 private:
  std::shared_ptr<Source> source_;
  size_t at_ = 0;
};

}  // namespace roll::shell
