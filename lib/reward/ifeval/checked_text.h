// CheckedText is a response prepared for ifeval checks (checks.h, instruction.h): its text, its lower-case form, and
// searches by regular expressions, which are compiled once.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"

namespace roll::ifeval {

/// A cache of compiled regular expressions (PCRE2 syntax) with a common time limit. Not thread-safe.
class Expressions {
 public:
  /// Gives all searches from now on `seconds` in total; find_all() throws MatchFailed when they are used up. May be
  /// called again, such as for each response. Without a call there is no limit.
  void limit_time(double seconds) { memory_.limit_time(seconds); }
  /// Returns all matches as views into `text` (valid UTF-8), leftmost first. \w, \d, \s and \b follow Unicode. The
  /// bytes of `expression` must outlive this object, which keeps the view as a key.
  std::vector<std::string_view> find_all(std::string_view expression, std::string_view text);

 private:
  std::map<std::string_view, Regex> compiled_;
  MatchMemory memory_;
};

/// A text with its lower-case form.
class CheckedText {
 public:
  /// `text`: valid UTF-8. Its bytes and `expressions` must outlive this object.
  CheckedText(std::string_view text, Expressions& expressions);

  std::string_view text() const { return text_; }
  const std::string& lowered() const { return lowered_; }
  /// Returns all matches of a regular expression in the text, like Expressions::find_all(). This and the next two
  /// functions throw MatchFailed if the time limit of the Expressions is exceeded.
  std::vector<std::string_view> find_all(std::string_view expression) const;
  /// Returns all matches in `part`, which is searched as a text by itself.
  std::vector<std::string_view> find_all(std::string_view expression, std::string_view part) const {
    return expressions_.find_all(expression, part);
  }
  /// Returns the number of matches in the text.
  int64_t count(std::string_view expression) const;

 private:
  std::string_view text_;
  std::string lowered_;
  Expressions& expressions_;
};

}  // namespace roll::ifeval
