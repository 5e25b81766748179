// Declares configuration keys. Every struct that holds keys has
//
//   void fields(Keys& v) { v("pg_clip", pg_clip, "ratio is kept in 1 -+ pg_clip", above_to(0, 1)); ... }
//
// as the single definition of a key's name, default, allowed values and meaning. The calls are
//   v(key, member, doc)                     member: bool, int64_t, double, std::string, an enum with names or a
//                                           Chosen<R> (base/names.h), a vector, a map with text keys, an optional,
//                                           another struct with fields(), or a type with from_config_text
//   v(key, member, doc, rules...)
//   v.noted({keys}, reason)                 keys of other programs: accepted, with a note that they have no effect;
//                                           `image_*` matches every key that begins with image_
//   v.refused({keys}, reason)               keys of other programs: an error, unless the value is null, false, 0 or
//                                           empty
//   v.refused_above_one({keys}, reason)     like refused, but the value 1 is accepted, too: for sizes of a layout
//   v.only_if(group.member, acts, other)    adds the rule only_if(acts, other) to the key of a member of a nested group
//
// The rules are
//   a range (range.h)       allowed numbers; without one: any finite number
//   only_with(other)        the key has no effect while the member `other` is false, or an optional without a value
//   only_if(acts, other)    the key has an effect only if the bool `acts` is true; the member `other` decides that
//   may_change()            a resumed run may have another value; for a group, for all keys in it
//   must_stay()             a resumed run must have the same value, although a group around the key may change
//   bool_or_text()          for text: YAML's true and false become "true" and "false"
//
// Each visitor of keys (reader, writer, walk.h, a tool's flags) is a subclass of Keys.
#pragma once

#include <initializer_list>
#include <string_view>

#include "config/member.h"
#include "config/range.h"

namespace roll {

using KeyList = std::initializer_list<const char*>;  // keys or patterns

/// The rule made by only_if() and only_with().
struct OnlyIf {
  bool acts;      // false: the key has no effect
  Address other;  // the member that decides `acts`
};
inline OnlyIf only_if(bool acts, const Address& other) {
  return {acts, other};
}
template <class M>
OnlyIf only_with(const M& other) {
  return {static_cast<bool>(other), other};
}
struct MayChange {};
constexpr MayChange may_change() {
  return {};
}
struct MustStay {};
constexpr MustStay must_stay() {
  return {};
}
struct BoolOrText {};
constexpr BoolOrText bool_or_text() {
  return {};
}

/// One line of fields(), without the member and its only_with/only_if rules.
struct KeyLine {
  const char* key;
  const char* doc;               // the key's meaning
  Range range{};                 // allowed numbers
  bool may_change = false;       // the rule may_change()
  bool must_stay = false;        // the rule must_stay()
  bool is_bool_or_text = false;  // the rule bool_or_text()

  void take(const Range& rule) { range = rule; }
  void take(MayChange) { may_change = true; }
  void take(MustStay) { must_stay = true; }
  void take(BoolOrText) { is_bool_or_text = true; }
  void take(const OnlyIf&) {}
};

/// Base class of visitors. fields() calls operator() for each key in order, which calls visit().
class Keys {
 public:
  virtual ~Keys() = default;

  /// Declares a key. M: a member type listed above. Rules: rule types listed above.
  template <class M, class... Rules>
  void operator()(const char* key, M& member, const char* doc, const Rules&... rules) {
    KeyLine line{key, doc};
    (line.take(rules), ...);
    visit(line, member);
    (pass_condition(member, rules), ...);
  }
  // Called by fields() for keys of other programs; see above.
  virtual void noted(KeyList, const char* /*reason*/) {}
  virtual void refused(KeyList, const char* /*reason*/) {}
  virtual void refused_above_one(KeyList keys, const char* reason) { refused(keys, reason); }
  /// Called after visit() of `member`, if its key has a rule only_if or only_with.
  virtual void only_if(const Address& /*member*/, bool /*acts*/, const Address& /*other*/) {}

  /// Returns true if the visitor is a reader and the mapping that it reads has the key; false for other visitors.
  virtual bool has(std::string_view) const { return false; }

  /// Called for each key of a member.
  virtual void visit(const KeyLine& line, const AnyMember& member) = 0;

 private:
  void pass_condition(const Address& member, const OnlyIf& rule) { only_if(member, rule.acts, rule.other); }
  template <class Rule>
  void pass_condition(const Address&, const Rule&) {}
};

}  // namespace roll
