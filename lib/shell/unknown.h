// Marks pieces of text that are known only at run time: environment variables and output of commands. A mark is a
// number between two bytes that no script contains.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace roll::shell {

struct Place {
  int file = 0;  // index of the script or sourced file
  int line = 1;
};

struct Unknown {
  enum class Kind {
    kVariable,  // text: name of an environment variable
    kBlank,     // text: such a name in ${NAME:-}, which is empty unless the caller sets it
    kOther,     // text: a command's output, "$(date +%F)", or a value that depends on an unknown condition
  };
  Kind kind = Kind::kVariable;
  std::string text;
  Place place;

  /// Returns true for variables that only the caller may set, unlike HOME or USER.
  bool may_be_set() const;
};

class Unknowns {
 public:
  /// Returns the mark of an unknown piece; equal pieces share one.
  std::string mark(const Unknown& unknown);

  /// Returns `text` with each mark replaced by the result of `piece`.
  std::string filled(std::string_view text, const std::function<std::string(const Unknown&)>& piece) const;
  /// Returns `text` without the marks of the variable `name`.
  std::string without(std::string_view text, const std::string& name) const;
  /// Returns `text` with variables that the caller may set as empty; nullopt if another mark remains.
  std::optional<std::string> known(std::string_view text) const;
  /// Returns true if `text` is empty when variables that the caller may set are; nullopt if only a run can tell.
  std::optional<bool> is_empty(std::string_view text) const;

 private:
  std::vector<Unknown> all_;
  std::map<std::tuple<Unknown::Kind, int, int, std::string>, size_t>
      index_;  // kind, file, line and text -> index in all_
};

bool has_unknown(std::string_view text);
/// Returns true for names that every shell sets: "HOME", "USER", ...
bool is_always_set(std::string_view name);

}  // namespace roll::shell
