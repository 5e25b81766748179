// Regular expressions on UTF-8 text: PCRE2 with its JIT, and limits on the cost of a match. The only user of PCRE2.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Bytes [begin, end) of a text.
struct Span {
  size_t begin, end;
};

/// PCRE2's message about an expression that it cannot compile, and the byte offset of the error in it.
struct RegexError : std::runtime_error {
  RegexError(const std::string& what, size_t at) : std::runtime_error(what), offset(at) {}
  size_t offset;
};

/// A match that cost too much (backtracking, memory, time); what() says which limit was reached.
struct MatchFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct RegexOptions {
  bool multiline = false;        // ^ and $ also match at line ends
  bool dot_all = false;          // '.' also matches newlines
  bool ignore_case = false;      // letters match in either case
  bool unicode_classes = false;  // \w, \d, \s and \b by Unicode properties instead of ASCII
  bool literal = false;          // the expression is a plain string; only with ignore_case and timed
  bool timed = false;            // obey MatchMemory::limit_time; somewhat slower
};

/// Memory for matching, and the groups of the last match; one per thread.
class MatchMemory {
 public:
  /// Keeps `num_groups` groups besides the whole match.
  explicit MatchMemory(size_t num_groups = 0);
  MatchMemory(MatchMemory&&) noexcept;
  MatchMemory& operator=(MatchMemory&&) noexcept;
  ~MatchMemory();

  /// Limits the total time of all further matches of `timed` expressions.
  void limit_time(double seconds);

  /// Returns group `i` of the last match (0: the whole match); nullopt if it took no part.
  std::optional<Span> group(size_t i) const;

 private:
  friend class Regex;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Immutable; may be used from several threads, each with its own MatchMemory.
class Regex {
 public:
  /// Compiles `expression` (PCRE2 syntax, UTF-8). RegexError: it does not compile.
  explicit Regex(std::string_view expression, const RegexOptions& options = {});

  size_t num_groups() const;

  /// Returns the first match in `text` (valid UTF-8) at or after `from`, which must be the start of a character or the
  /// end. MatchFailed: a limit was reached.
  std::optional<Span> find(std::string_view text, size_t from, MatchMemory& memory) const;

  /// Appends all matches in `text` (valid UTF-8), leftmost first, not overlapping. An empty match directly after
  /// another match is skipped. MatchFailed: a limit was reached.
  void find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace roll
