// Every struct that holds keys has
//
//   void fields(Keys& v) { v("pg_clip", pg_clip, "ratio is kept in 1 -+ pg_clip", above_to(0, 1)); ... }
//
// the one place where a key's name, default, allowed values and meaning stand. It is called
//   v(key, member, doc)                     member: bool, int64_t, double, std::string, an enum with names or a chosen
//                                           row (base/names.h), a vector, a map with text keys, an optional of those,
//                                           another such struct, or a type with from_config_text
//   v(key, member, doc, rules...)
//   v.noted({keys}, reason)                 accepted, with a note that it means nothing here; `image_*` is a pattern
//   v.refused({keys}, reason)               an error, unless null, false, 0 or empty
//   v.refused_above_one({keys}, reason)     an error, unless that or 1: sizes of a layout
//   v.only_if(group.member, acts, other)    a rule of a group's key, which asks what the group does not know
//
// A rule is
//   a range (range.h)       of its numbers; without one: any finite number
//   only_with(flag)         it has no effect while the flag is false, or the optional is null
//   only_if(acts, other)    it has no effect unless `acts`, because of the key `other`
//   may_change()            a run that goes on may change it, and keys of its name elsewhere
//   bool_or_text()          of a text: true and false become "true" and "false"
//
// Who visits the keys of a struct (a reader, a writer, walk.h, a tool's flags) is a Keys of its own.
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

/// What stands in a line of fields(), but for the member and what makes it idle.
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
    (tell(member, rules), ...);
  }
  virtual void noted(KeyList, const char* /*reason*/) {}
  virtual void refused(KeyList, const char* /*reason*/) {}
  virtual void refused_above_one(KeyList keys, const char* reason) { refused(keys, reason); }
  /// Follows the visit of `member`.
  virtual void only_if(const Address& /*member*/, bool /*acts*/, const Address& /*other*/) {}

  /// Whether the key is given, where keys are read.
  virtual bool has(std::string_view) const { return false; }

  virtual void visit(const KeyLine& line, const AnyMember& member) = 0;

 private:
  void tell(const Address& member, const OnlyIf& rule) { only_if(member, rule.acts, rule.other); }
  template <class Rule>
  void tell(const Address&, const Rule&) {}
};

}  // namespace roll
