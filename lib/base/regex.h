// Regular expressions on UTF-8 text: PCRE2 with its JIT, and with bounds on what a match may cost.
// The only user of PCRE2.
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

/// What PCRE2 says of an expression that it cannot compile, and at which byte of it.
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
  bool timed = false;            // MatchMemory::limit_time is obeyed; somewhat slower
};

/// Memory that matching needs, and the last match's groups; one per thread that matches.
class MatchMemory {
 public:
  /// `num_groups`: how many groups can be asked for, besides the whole match.
  explicit MatchMemory(size_t num_groups = 0);
  MatchMemory(MatchMemory&&) noexcept;
  MatchMemory& operator=(MatchMemory&&) noexcept;
  ~MatchMemory();

  /// From now on, matches of a `timed` expression together may take this long.
  void limit_time(double seconds);

  /// Group `i` of the last match (0: all of it); nothing when it took no part.
  std::optional<Span> group(size_t i) const;

 private:
  friend class Regex;
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Immutable; may be used from several threads, each with its own MatchMemory.
class Regex {
 public:
  /// `expression`: PCRE2 syntax, UTF-8. Throws RegexError.
  explicit Regex(std::string_view expression, const RegexOptions& options = {});

  size_t num_groups() const;

  /// The first match in `text` (valid UTF-8) at or behind `from`, which must be the start of a character or the end.
  /// Throws MatchFailed.
  std::optional<Span> find(std::string_view text, size_t from, MatchMemory& memory) const;

  /// Appends all matches in `text` (valid UTF-8), leftmost first, not overlapping; an empty match directly behind
  /// another match is none. Throws MatchFailed.
  void find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const;

 private:
  struct Code;
  std::shared_ptr<const Code> code_;
};

}  // namespace roll
