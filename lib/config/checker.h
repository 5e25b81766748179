// Checks rules between keys of a configuration. Each failure is collected with the key's place, value and spelling.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/complaints.h"
#include "config/key_index.h"

namespace roll {

/// Collects broken rules. The configuration must not move while a Checker exists.
class Checker : public KeyIndex {
 public:
  Checker(KeyIndex keys, std::vector<std::string>& notes) : KeyIndex(std::move(keys)), notes_(notes) {}

  /// Records the error "place: key = value: rule" unless `holds`. Returns `holds`.
  template <class... A>
  bool require(bool holds, const Address& member, fmt::format_string<A...> rule, A&&... values) {
    if (!holds) complaints_.add(place(member), name(member) + ": " + fmt::format(rule, std::forward<A>(values)...));
    return holds;
  }

  /// Records the error "place: key: missing; remedy" unless `is_given`, for a key without a useful default.
  bool require_given(bool is_given, const Address& member, const std::string& remedy) {
    if (!is_given) complaints_.add(place(member), fmt::format("{}: missing; {}", key(member), remedy));
    return is_given;
  }

  /// Calls body() and records its UserError, if any, as an error at `member`.
  template <class F>
  void collect(const Address& member, F&& body) {
    collect_after(key(member) + ": ", member, body);
  }
  /// Like collect(), for an error whose text names the key already.
  template <class F>
  void collect_named(const Address& member, F&& body) {
    collect_after("", member, body);
  }

  void note(const std::string& text) { notes_.push_back(text); }
  /// Notes that a key has no effect. On the command line this is an error, because somebody typed the key on purpose.
  void note_idle(const Address& member, const std::string& text) {
    if (place(member).is_command_line())
      complaints_.add(place(member), text + "; leave it out");
    else
      note(text);
  }
  void throw_if_any() const { complaints_.throw_if_any(); }
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
