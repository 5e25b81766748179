// Declares configuration keys. Every struct that holds keys has
//
//   void fields(Keys& v) { v("pg_clip", pg_clip, "ratio is kept in 1 -+ pg_clip", above_to(0, 1)); ... }
//
// as the single definition of a key's name, default, allowed values and meaning. The calls are
//   v(key, member, doc)                     member: bool, int64_t, double, std::string, an enum with names or a chosen
//                                           row (base/names.h), a vector, a map with text keys, an optional, another
//                                           struct with fields(), or a type with from_config_text
//   v(key, member, doc, rules...)
//   v.noted({keys}, reason)                 accepted, with a note that it has no effect; `image_*` is a pattern
//   v.refused({keys}, reason)               an error, unless null, false, 0 or empty
//   v.refused_above_one({keys}, reason)     like refused, but 1 is accepted too: sizes of a layout
//   v.only_if(group.member, acts, other)    adds only_if(acts, other) to a key of an inner group
//
// The rules are
//   a range (range.h)       allowed numbers; without one: any finite number
//   only_with(flag)         the key has no effect while the flag is false, or the optional is null
//   only_if(acts, other)    the key has no effect unless `acts`, because of the key `other`
//   may_change()            a resumed run may change the key; for a group, all keys in it
//   bool_or_text()          for text: YAML's true and false become "true" and "false"
//
// Each visitor of keys (reader, writer, walk.h, a tool's flags) is a subclass of Keys.
#pragma once

#include <initializer_list>
#include <string_view>

#include "config/member.h"
#include "config/range.h"

namespace roll {

using KeyList = std::initializer_list<const char*>;

struct OnlyIf {
  bool acts;
  Address other;
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
struct BoolOrText {};
constexpr BoolOrText bool_or_text() {
  return {};
}

/// One line of fields(), without the member and its only_with/only_if rules.
struct KeyLine {
  const char* key;
  const char* doc;
  Range range{};
  bool may_change = false;
  bool is_bool_or_text = false;

  void take(const Range& rule) { range = rule; }
  void take(MayChange) { may_change = true; }
  void take(BoolOrText) { is_bool_or_text = true; }
  void take(const OnlyIf&) {}
};

class Keys {
 public:
  virtual ~Keys() = default;

  template <class M, class... Rules>
  void operator()(const char* key, M& member, const char* doc, const Rules&... rules) {
    KeyLine line{key, doc};
    (line.take(rules), ...);
    visit(line, member);
    (pass_condition(member, rules), ...);
  }
  virtual void noted(KeyList, const char* /*reason*/) {}
  virtual void refused(KeyList, const char* /*reason*/) {}
  virtual void refused_above_one(KeyList keys, const char* reason) { refused(keys, reason); }
  /// Called after visit() of `member`, for a rule only_if or only_with.
  virtual void only_if(const Address& /*member*/, bool /*acts*/, const Address& /*other*/) {}

  /// True if the visitor is a reader and the key is set.
  virtual bool has(std::string_view) const { return false; }

  virtual void visit(const KeyLine& line, const AnyMember& member) = 0;

 private:
  void pass_condition(const Address& member, const OnlyIf& rule) { only_if(member, rule.acts, rule.other); }
  template <class Rule>
  void pass_condition(const Address&, const Rule&) {}
};

}  // namespace roll
