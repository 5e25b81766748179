// Regular expressions on UTF-8 text, by PCRE2 with its JIT, with limits on the cost of a match. No other code of ours
// uses PCRE2.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// The bytes [begin, end) of a text.
struct Span {
  size_t begin, end;
};

/// Thrown for an expression that PCRE2 cannot compile; what() is PCRE2's message.
struct RegexError : std::runtime_error {
  RegexError(const std::string& what, size_t at) : std::runtime_error(what), offset(at) {}
  size_t offset;  // byte of the expression at which the error was found
};

/// Thrown if a match costs too much; what() says which limit was reached: PCRE2's on backtracking and memory, or the
/// time of MatchMemory::limit_time().
struct MatchFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct RegexOptions {
  bool multiline = false;        // ^ and $ also match at line ends
  bool dot_all = false;          // '.' also matches newlines
  bool ignore_case = false;      // letters match in either case
  bool unicode_classes = false;  // \w, \d, \s and \b by Unicode properties instead of ASCII
  bool literal = false;          // the expression is a plain string; combines only with ignore_case and timed
  bool timed = false;            // MatchMemory::limit_time() applies; matching is somewhat slower
};

/// Working memory for matching; it also holds the groups of the last match. Each thread needs its own. One object may
/// serve several expressions in turn.
class MatchMemory {
 public:
  /// Keeps the first `num_groups` capturing groups of a match, and the whole match; later groups cannot be asked for.
  explicit MatchMemory(size_t num_groups = 0);
  MatchMemory(MatchMemory&&) noexcept;
  MatchMemory& operator=(MatchMemory&&) noexcept;
  ~MatchMemory();

  /// From this call on, matches of `timed` expressions have `seconds` in total; after that they throw MatchFailed.
  void limit_time(double seconds);

  /// Returns capturing group `i` of the last successful match (0: the whole match); nullopt if the group took no part
  /// in the match, or is not kept.
  std::optional<Span> group(size_t i) const;

 private:
  friend class Regex;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// A compiled expression. It may be used by several threads at once, each with its own MatchMemory; copies share it.
class Regex {
 public:
  /// Compiles `expression` (PCRE2 syntax, UTF-8). Throws RegexError if it does not compile.
  explicit Regex(std::string_view expression, const RegexOptions& options = {});

  /// Returns the number of capturing groups in the expression.
  size_t num_groups() const;

  /// Returns the first match in `text` that begins at byte `from` or later; nullopt if there is none. `text` must be
  /// valid UTF-8 (this is not checked), and `from` the start of a character or text.size(). Throws MatchFailed if the
  /// match costs too much.
  std::optional<Span> find(std::string_view text, size_t from, MatchMemory& memory) const;

  /// Appends to `matches` all matches in `text` (valid UTF-8, unchecked) from left to right, without overlaps. An empty
  /// match directly after another match is skipped. Throws MatchFailed if a match costs too much.
  void find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace roll
