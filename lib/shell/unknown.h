// Texts with pieces that only a run would tell: variables of the environment, and what commands print. Such a piece is
// a number between two bytes that no script has.
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
  int file = 0;  // a script and what it sources have one number each
  int line = 1;
};

struct Unknown {
  enum class Kind {
    kVariable,  // text: a name that the script leaves to the environment
    kBlank,     // text: such a name, where the script says ${NAME:-}: nothing unless the caller sets it
    kOther,     // text: what commands print, "$(date +%F)", or what depends on a condition that is not known
  };
  Kind kind = Kind::kVariable;
  std::string text;
  Place place;

  /// Left to the caller, and not what every shell has: nothing unless the caller sets it.
  bool may_be_set() const;
};

class Unknowns {
 public:
  /// What stands in a text for it; one that is known already is not added again.
  std::string mark(const Unknown& unknown);

  /// `text` with `piece` of each unknown one in its place.
  std::string filled(std::string_view text, const std::function<std::string(const Unknown&)>& piece) const;
  /// `text` without the pieces that are the variable `name`.
  std::string without(std::string_view text, const std::string& name) const;
  /// As on a machine whose environment has nothing but what every shell sets; nullopt: an unknown piece remains.
  std::optional<std::string> known(std::string_view text) const;
  /// Whether `text` is empty, with the same environment; nullopt: a run would tell.
  std::optional<bool> is_empty(std::string_view text) const;

 private:
  std::vector<Unknown> all_;
  std::map<std::tuple<Unknown::Kind, int, int, std::string>, size_t> index_;  // kind, file, line and text: in all_
};

bool has_unknown(std::string_view text);
/// "HOME", "USER", ...
bool is_always_set(std::string_view name);

}  // namespace roll::shell
