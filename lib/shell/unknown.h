// Pieces of a script's text that are known only at run time: environment variables and output of commands. In their
// place the interpreter puts a mark into the text: a number between the bytes 1 and 2, which do not occur in scripts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace roll::shell {

/// File and line of a script.
struct Place {
  int file = 0;  // index in the Interpreter's list of files; place_text() gives the name
  int line = 1;
};

/// Piece of text that is known only at run time.
struct Unknown {
  enum class Kind {
    kVariable,  // an environment variable; `text` is its name
    kBlank,     // ${NAME:-}, which is empty unless the user sets the variable; `text` is NAME
    kOther,     // a command's output or a value that depends on it; `text` describes it: "$(date +%F)"
  };
  Kind kind = Kind::kVariable;
  std::string text;
  Place place;  // line of the script that uses it

  /// Returns true for a variable that is unset unless the script's user sets it, unlike HOME or USER.
  bool may_be_set() const;
};

/// All unknown pieces of a script, by their marks.
class Unknowns {
 public:
  /// Returns the mark of an unknown piece; pieces of equal kind, place and text share one.
  std::string mark(const Unknown& unknown);

  /// Returns `text` with each mark replaced by the result of `piece` for the mark's Unknown.
  std::string filled(std::string_view text, const std::function<std::string(const Unknown&)>& piece) const;
  /// Returns `text` without the marks of the environment variable `name`.
  std::string without(std::string_view text, const std::string& name) const;
  /// Returns `text` with all variables that may_be_set() taken as empty; nullopt if it has marks of other pieces.
  std::optional<std::string> known(std::string_view text) const;
  /// Returns true if `text` is empty with all variables that may_be_set() taken as empty; nullopt if that is known only
  /// at run time.
  std::optional<bool> is_empty(std::string_view text) const;

 private:
  std::vector<Unknown> all_;
  std::map<std::tuple<Unknown::Kind, int, int, std::string>, size_t>
      index_;  // kind, file, line and text -> index in all_
};

/// Returns true if `text` contains a mark.
bool has_unknown(std::string_view text);
/// Returns true for variables that are set in every shell: "HOME", "USER", ...
bool is_always_set(std::string_view name);

}  // namespace roll::shell
