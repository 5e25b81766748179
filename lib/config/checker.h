// Rules between keys: each failure is collected with the key's place, value and spelling.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/complaints.h"
#include "config/key_index.h"

namespace roll {

class Checker {
 public:
  Checker(const KeyIndex& keys, std::vector<std::string>& notes) : keys_(keys), notes_(notes) {}

  /// Unless `holds`: complains "place: key = value: rule". Returns `holds`.
  template <class M, class... A>
  bool require(bool holds, const M& member, fmt::format_string<A...> rule, A&&... values) {
    if (!holds)
      complaints_.add(keys_.place(member), keys_.name(member) + ": " + fmt::format(rule, std::forward<A>(values)...));
    return holds;
  }

  /// Unless `is_given`: complains "place: key: missing; remedy", for a key without a default worth showing.
  template <class M>
  bool require_given(bool is_given, const M& member, const std::string& remedy) {
    if (!is_given) complaints_.add(keys_.place(member), fmt::format("{}: missing; {}", keys_.path(member), remedy));
    return is_given;
  }

  template <class M>
  bool is_set(const M& member) const {
    return keys_.is_set(member);
  }
  /// "key = value", to name a second key in a rule.
  template <class M>
  std::string name(const M& member) const {
    return keys_.name(member);
  }
  /// The key alone.
  template <class M>
  const std::string& key(const M& member) const {
    return keys_.path(member);
  }

  /// Where a second key was set.
  template <class M>
  std::string place(const M& member) const {
    return keys_.place(member).text();
  }

  /// A UserError of a lower layer becomes a complaint at `member`.
  template <class M, class F>
  void collect(const M& member, F&& body) {
    collect_after(keys_.path(member) + ": ", member, body);
  }
  /// collect() for an error whose text names the key itself.
  template <class M, class F>
  void collect_named(const M& member, F&& body) {
    collect_after("", member, body);
  }

  void note(const std::string& text) { notes_.push_back(text); }
  /// Of a key that was set and has no effect. Whoever types one wants something of it, so there it is an error.
  template <class M>
  void note_idle(const M& member, const std::string& text) {
    if (keys_.place(member).is_command_line())
      complaints_.add(keys_.place(member), text + "; leave it out");
    else
      note(text);
  }
  void throw_if_any() const { complaints_.throw_if_any(); }
  bool is_clean() const { return complaints_.empty(); }

 private:
  template <class M, class F>
  void collect_after(const std::string& prefix, const M& member, F& body) {
    try {
      body();
    } catch (const UserError& e) {
      complaints_.add(keys_.place(member), prefix + e.what());
    }
  }

  const KeyIndex& keys_;
  std::vector<std::string>& notes_;
  Complaints complaints_;
};

}  // namespace roll
