// Collects the rules that a loaded configuration breaks, with the place (file, line, column), path and value of each
// key, so that all are reported at once. Used by the checks in settings/.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/complaints.h"
#include "config/key_index.h"

namespace roll {

/// A caller names a key by its member in the configuration struct: require(c.lr > 0, c.lr, "must be above 0"). The
/// struct must not move while a Checker exists. Functions throw Bug for a member that has no key.
class Checker : public KeyIndex {
 public:
  /// note() and note_idle() append to `notes`, which must outlive this object.
  Checker(KeyIndex keys, std::vector<std::string>& notes) : KeyIndex(std::move(keys)), notes_(notes) {}

  /// Unless `holds`, records the error "place: key = value: rule". `rule` is an fmt format for `values`. Returns
  /// `holds`.
  template <class... A>
  bool require(bool holds, const Address& member, fmt::format_string<A...> rule, A&&... values) {
    if (!holds) complaints_.add(place(member), name(member) + ": " + fmt::format(rule, std::forward<A>(values)...));
    return holds;
  }

  /// Unless `is_given`, records the error "place: key: missing; remedy": for a key without a useful default. Returns
  /// `is_given`.
  bool require_given(bool is_given, const Address& member, const std::string& remedy) {
    if (!is_given) complaints_.add(place(member), fmt::format("{}: missing; {}", key(member), remedy));
    return is_given;
  }

  /// Calls body(). If it throws UserError, records the error "place: key: text" instead.
  template <class F>
  void collect(const Address& member, F&& body) {
    collect_after(key(member) + ": ", member, body);
  }
  /// Like collect(), but records "place: text", for a UserError whose text names the key already.
  template <class F>
  void collect_named(const Address& member, F&& body) {
    collect_after("", member, body);
  }

  /// Adds a note, which users see though the configuration is accepted.
  void note(const std::string& text) { notes_.push_back(text); }
  /// Adds the note `text`, which says that a key has no effect. If an override on the command line set the key, records
  /// an error instead, because somebody typed it on purpose.
  void note_idle(const Address& member, const std::string& text) {
    if (place(member).is_command_line())
      complaints_.add(place(member), text + "; leave it out");
    else
      note(text);
  }
  /// Throws a UserError with the recorded errors, if there are any; call it after all checks.
  void throw_if_any() const { complaints_.throw_if_any(); }
  /// Returns true if no error is recorded.
  bool is_clean() const { return complaints_.empty(); }

 private:
  template <class F>
  void collect_after(const std::string& prefix, const Address& member, F& body) {
    try {
      body();
    } catch (const UserError& e) {
      complaints_.add(place(member), prefix + e.what());
    }
  }

  std::vector<std::string>& notes_;
  Complaints complaints_;
};

}  // namespace roll
