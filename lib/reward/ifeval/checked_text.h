// A response prepared for ifeval checks: text, lower-case form, and a cache of compiled regular expressions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/regex.h"

namespace roll::ifeval {

/// A cache of compiled regular expressions with a common time limit. Not thread-safe.
class Expressions {
 public:
  /// Limits the total time of all matches from now on. Later matches throw MatchFailed when it is exceeded.
  void limit_time(double seconds) { memory_.limit_time(seconds); }
  /// Returns all matches, leftmost first. `expression` must outlive this; character classes follow Unicode.
  std::vector<std::string_view> find_all(std::string_view expression, std::string_view text);

 private:
  std::map<std::string_view, Regex> compiled_;
  MatchMemory memory_;
};

/// A text in valid UTF-8.
class CheckedText {
 public:
  /// `expressions` and the bytes of `text` must outlive this.
  CheckedText(std::string_view text, Expressions& expressions);

  std::string_view text() const { return text_; }
  const std::string& lowered() const { return lowered_; }
  /// Returns all matches of a regular expression. MatchFailed: the time limit is exceeded.
  std::vector<std::string_view> find_all(std::string_view expression) const;
  /// Searches in a part of the text.
  std::vector<std::string_view> find_all(std::string_view expression, std::string_view part) const {
    return expressions_.find_all(expression, part);
  }
  int64_t count(std::string_view expression) const;

 private:
  std::string_view text_;
  std::string lowered_;
  Expressions& expressions_;
};

}  // namespace roll::ifeval
