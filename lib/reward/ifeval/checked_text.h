// A text with its lower-case form and a cache of compiled regular expressions to count in it.
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
  /// From now on, all matches together may take this long; then MatchFailed.
  void limit_time(double seconds) { memory_.limit_time(seconds); }
  /// All matches, leftmost first. `expression` must outlive this; classes are Unicode's.
  std::vector<std::string_view> find_all(std::string_view expression, std::string_view text);

 private:
  std::map<std::string_view, Regex> compiled_;
  MatchMemory memory_;
};

/// Valid UTF-8.
class CheckedText {
 public:
  /// `expressions` and what `text` views must outlive this.
  CheckedText(std::string_view text, Expressions& expressions);

  std::string_view text() const { return text_; }
  const std::string& lowered() const { return lowered_; }
  std::vector<std::string_view> find_all(std::string_view expression) const;
  /// The same in a part of it.
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
