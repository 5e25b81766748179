// Type-erased access to the members of configuration structs: AnyMember is a pointer to a member and to a table of
// functions for its type. Readers, writers and checks that visit fields() (config/keys.h) are thereby compiled once,
// not once per configuration.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "base/names.h"
#include "config/node.h"

namespace roll {

class Keys;

/// A struct that declares its keys in fields(); see keys.h.
template <class T>
concept HasFields = requires(T& t, Keys& v) {
  t.fields(v);
};

/// A type that is read from the text of one YAML scalar, such as a device mapping. A YAML list is passed as its text
/// "[a, b]". The type has two functions: from_config_text(text, T&), which throws a UserError with the broken rule
/// ("must be ..."), and to_config_text(const T&), which returns the text.
template <class T>
concept HasConfigText = requires(const std::string& text, T& value) {
  from_config_text(text, value);
};

/// Result of reading a value: the error, if any.
struct BadValue {
  std::string rule;         // the broken rule, e.g. "a number is needed, this is text"; "" if the value is valid
  bool is_foreign = false;  // the value shows that the whole group was written for another program
};

/// Functions for members of one type; kMemberType<M> is the only object for type M. A `member` or `entry` argument must
/// point to an object of that type. Calling a function for another shape throws Bug or does nothing.
class MemberType {
 public:
  /// kGroup: a struct with fields(). kList: std::vector. kMap: std::map with text keys.
  enum class Shape { kScalar, kOptional, kList, kMap, kGroup };
  using Visit = std::function<void(void* member)>;
  using VisitEntry = std::function<void(const std::string& name, void* entry)>;
  using Fill = std::function<bool(void* entry)>;  // sets the entry's value; returns false if there is none

  constexpr virtual ~MemberType() = default;

  const Shape shape;
  const std::type_info& id;       // typeid of the member's type
  const MemberType* const inner;  // type of the entries of an optional, list or map; else nullptr

  // For scalars.
  /// Reads a node into a member; if the result has a rule, the node has no valid value.
  virtual BadValue read(const Node& node, void* member) const;
  /// Returns the value as messages show it.
  virtual std::string text(const void* member) const;
  /// Returns the allowed words if the type has some (base/names.h), else an empty list.
  virtual std::vector<std::string> words() const = 0;
  /// True if the value is written as YAML text, in quotes if it looks like another type.
  virtual bool is_text() const = 0;

  // For optionals, lists and maps. An entry's name is its key in a map, its index in a list, "" in an optional.
  /// Calls f(name, entry) for each entry.
  virtual void each(void* member, const VisitEntry& f) const = 0;
  /// Removes all entries.
  virtual void clear(void* member) const = 0;
  /// Adds an entry with default values and calls fill(entry). If that returns false, the entry is dropped, except in a
  /// map. `name` is the key in a map, else ignored.
  virtual void add(void* member, const std::string& name, const Fill& fill) const = 0;

  // For groups (structs with fields()).
  /// Calls f with a temporary group of default values.
  virtual void example(const Visit& f) const = 0;
  /// Calls fields(v) of the group.
  virtual void fields(void* member, Keys& v) const = 0;

 protected:
  constexpr MemberType(Shape shape_, const std::type_info& id_, const MemberType* inner_ = nullptr)
      : shape(shape_), id(id_), inner(inner_) {}
};

// Read a scalar of each type into `out`; on an error, leave `out` unchanged.
BadValue read_scalar(const Node& node, bool& out);
BadValue read_scalar(const Node& node, int64_t& out);
BadValue read_scalar(const Node& node, double& out);
BadValue read_scalar(const Node& node, std::string& out);
// Return a scalar's value as YAML text without quotes.
std::string scalar_text(bool value);
std::string scalar_text(int64_t value);
std::string scalar_text(double value);
std::string scalar_text(const std::string& value);

/// Returns the error for `node`, which is not a scalar although one word is needed.
BadValue not_one_word(const Node& node);
/// Calls read(text) with the text of a scalar or list. Returns the message of its UserError, if it throws one, or the
/// error for a node of another kind.
BadValue read_from_text(const Node& node, const std::function<void(const std::string& text)>& read);
/// Returns the error for a text that is none of `words`; suggests the nearest.
BadValue not_an_allowed_word(const std::string& text, const std::vector<std::string>& words);

/// Reads one of the words of M (base/names.h). A type may overload why_foreign(M, word): it returns why an unknown word
/// shows that the group was written for another program, or "".
template <IsWord M>
BadValue read_scalar(const Node& node, M& out) {
  if (node.kind != Node::Kind::kScalar) return not_one_word(node);
  if (Words<M>::read(node.text, out)) return {};
  if constexpr (requires { Words<M>::why_refused(node.text); })
    if (const std::string reason = Words<M>::why_refused(node.text); !reason.empty()) return {reason};
  if constexpr (requires { why_foreign(out, node.text); })
    if (const std::string reason = why_foreign(out, node.text); !reason.empty()) return {reason, true};
  return not_an_allowed_word(node.text, Words<M>::all());
}
template <IsWord M>
std::string scalar_text(const M& value) {
  return std::string(enum_name(value));
}

template <HasConfigText M>
BadValue read_scalar(const Node& node, M& out) {
  return read_from_text(node, [&out](const std::string& text) { from_config_text(text, out); });
}
template <HasConfigText M>
std::string scalar_text(const M& value) {
  return to_config_text(value);
}

/// The MemberType of members of type M; see keys.h for the types allowed.
template <class M>
class MemberTypeOf;
template <class M>
inline constexpr MemberTypeOf<M> kMemberType{};

template <class M>
class MemberTypeOf final : public MemberType {
  static constexpr bool kIsMap = requires { typename M::mapped_type; };
  static constexpr bool kIsOptional = requires(const M& value) { value.has_value(); };
  static constexpr bool kIsList = !kIsMap && !std::is_same_v<M, std::string> && requires { typename M::iterator; };
  static constexpr bool kIsScalar = !HasFields<M> && !kIsMap && !kIsOptional && !kIsList;

  static constexpr Shape member_shape() {
    if (HasFields<M>) return Shape::kGroup;
    return kIsMap ? Shape::kMap : kIsList ? Shape::kList : kIsOptional ? Shape::kOptional : Shape::kScalar;
  }
  static constexpr const MemberType* inner_type() {
    if constexpr (kIsMap)
      return &kMemberType<typename M::mapped_type>;
    else if constexpr (kIsOptional || kIsList)
      return &kMemberType<typename M::value_type>;
    else
      return nullptr;
  }
  static M& as(void* member) { return *static_cast<M*>(member); }

 public:
  constexpr MemberTypeOf() : MemberType(member_shape(), typeid(M), inner_type()) {}

  BadValue read(const Node& node, void* member) const override {
    if constexpr (kIsScalar) return read_scalar(node, as(member));
    return MemberType::read(node, member);
  }
  std::string text(const void* member) const override {
    if constexpr (kIsScalar) return scalar_text(*static_cast<const M*>(member));
    return MemberType::text(member);
  }
  std::vector<std::string> words() const override {
    if constexpr (IsWord<M>) return Words<M>::all();
    return {};
  }
  bool is_text() const override { return std::is_same_v<M, std::string> || HasConfigText<M>; }

  void each(void* member, const VisitEntry& f) const override {
    if constexpr (kIsOptional) {
      if (as(member)) f("", &*as(member));
    } else if constexpr (kIsList) {
      for (size_t i = 0; i < as(member).size(); ++i) f(std::to_string(i), &as(member)[i]);
    } else if constexpr (kIsMap) {
      for (auto& [name, entry] : as(member)) f(name, &entry);
    }
  }
  void clear(void* member) const override {
    if constexpr (inner_type() != nullptr) as(member) = M();
  }
  void add(void* member, const std::string& name, const Fill& fill) const override {
    if constexpr (kIsMap) {
      fill(&as(member)[name]);
    } else if constexpr (kIsOptional || kIsList) {
      typename M::value_type value{};
      if (!fill(&value)) return;
      if constexpr (kIsList)
        as(member).push_back(std::move(value));
      else
        as(member) = std::move(value);
    }
  }

  void example(const Visit& f) const override {
    if constexpr (HasFields<M>) {
      M value;
      f(&value);
    }
  }
  void fields(void* member, Keys& v) const override {
    if constexpr (HasFields<M>) as(member).fields(v);
  }
};

/// A reference to a member of any type.
struct AnyMember {
  void* at = nullptr;                // the member; nullptr for noted and refused keys, which have none
  const MemberType* type = nullptr;  // nullptr if `at` is

  AnyMember() = default;
  AnyMember(void* at_, const MemberType& type_) : at(at_), type(&type_) {}
  /// Refers to `member`, which must outlive this object. Casts const away, because the same fields() serves readers and
  /// writers; writers do not change it.
  template <class M>
  AnyMember(const M& member) : at(const_cast<M*>(&member)), type(&kMemberType<M>) {}

  /// Returns true for a group, a map, or a list of groups, which YAML shows in several lines.
  bool is_group() const;
  /// Returns true for an optional without a value.
  bool is_null() const;
  /// Returns the value as messages show it: "null" for an empty optional, "..." for a list, map or group.
  std::string text() const;
  /// Returns the allowed words of an enum, also inside a list or optional; empty for other types.
  std::vector<std::string> words() const;
  /// Calls f(name, entry) for each entry of an optional, a list or a map; does nothing for other types.
  void each(const std::function<void(const std::string& name, const AnyMember& entry)>& f) const;
  /// Returns the path of this member's entry `name`, for the member's path: "list[2]" or "map.name".
  std::string entry_path(const std::string& path, const std::string& name) const;
};

/// Identity of a member, to look up its key. The type distinguishes a struct from its first member, which has the same
/// address.
struct Address {
  const void* at;
  std::type_index type;

  template <class M>
  Address(const M& member) : at(&member), type(typeid(M)) {}
  Address(const AnyMember& member) : at(member.at), type(member.type->id) {}
  auto operator<=>(const Address&) const = default;
};

}  // namespace roll
