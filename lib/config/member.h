// Type-erased access to the members of configuration structs: one function table per type. So readers, writers and
// checks that visit fields() are compiled once, not once per configuration.
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

/// A type that is read from one YAML scalar (or from a list, as its text "[a, b]"), such as a device mapping.
/// from_config_text(text, T&) throws a UserError with the broken rule; to_config_text(const T&) writes the text.
template <class T>
concept HasConfigText = requires(const std::string& text, T& value) {
  from_config_text(text, value);
};

/// Error of reading a value.
struct BadValue {
  std::string rule;         // the broken rule; empty: the value is valid
  bool is_foreign = false;  // the value shows that the struct is another program's
};

class MemberType {
 public:
  enum class Shape { kScalar, kOptional, kList, kMap, kGroup };
  using Visit = std::function<void(void* member)>;
  using VisitEntry = std::function<void(const std::string& name, void* entry)>;
  using Fill = std::function<bool(void* entry)>;

  constexpr virtual ~MemberType() = default;

  const Shape shape;
  const std::type_info& id;
  const MemberType* const inner;  // type of the entries of an optional, list or map; else null

  // For scalars; others throw Bug.
  virtual BadValue read(const Node& node, void* member) const;
  /// Returns the value as messages show it.
  virtual std::string text(const void* member) const;
  virtual std::vector<std::string> words() const = 0;
  /// True if the value is written as YAML text, in quotes if it looks like another type.
  virtual bool is_text() const = 0;

  // For optionals, lists and maps. An entry's name is "" in an optional, and its index in a list.
  virtual void each(void* member, const VisitEntry& f) const = 0;
  virtual void clear(void* member) const = 0;
  /// Adds an entry that `fill` fills, unless `fill` returns false; a map keeps the entry anyway.
  virtual void add(void* member, const std::string& name, const Fill& fill) const = 0;

  // For groups (structs with fields()).
  /// Calls f with a group of default values.
  virtual void example(const Visit& f) const = 0;
  virtual void fields(void* member, Keys& v) const = 0;

 protected:
  constexpr MemberType(Shape shape_, const std::type_info& id_, const MemberType* inner_ = nullptr)
      : shape(shape_), id(id_), inner(inner_) {}
};

BadValue read_scalar(const Node& node, bool& out);
BadValue read_scalar(const Node& node, int64_t& out);
BadValue read_scalar(const Node& node, double& out);
BadValue read_scalar(const Node& node, std::string& out);
std::string scalar_text(bool value);
std::string scalar_text(int64_t value);
std::string scalar_text(double value);
std::string scalar_text(const std::string& value);

/// Returns the error for a node that is not one word.
BadValue not_one_word(const Node& node);
/// Calls `read` with the node's text; returns its UserError, or the error for a node without text.
BadValue read_from_text(const Node& node, const std::function<void(const std::string& text)>& read);
BadValue not_an_allowed_word(const std::string& text, const std::vector<std::string>& words);

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
  void* at = nullptr;  // null for noted and refused keys
  const MemberType* type = nullptr;

  AnyMember() = default;
  AnyMember(void* at_, const MemberType& type_) : at(at_), type(&type_) {}
  /// Casts const away: the same fields() serves writers, which only read, and readers.
  template <class M>
  AnyMember(const M& member) : at(const_cast<M*>(&member)), type(&kMemberType<M>) {}

  /// True for a group, a map, or a list of groups: it is written in more than one line.
  bool is_group() const;
  bool is_null() const;
  /// Returns the value as messages show it; "..." for a list, map or group.
  std::string text() const;
  /// Returns the allowed words of an enum, also inside a list or optional; empty for other types.
  std::vector<std::string> words() const;
  /// Calls f(name, entry) for each entry of an optional, a list or a map.
  void each(const std::function<void(const std::string& name, const AnyMember& entry)>& f) const;
  /// Returns the path of an entry: "list[2]" or "map.name".
  std::string entry_path(const std::string& path, const std::string& name) const;
};

/// Identity of a member. The type distinguishes a struct from its first member, which has the same address.
struct Address {
  const void* at;
  std::type_index type;

  template <class M>
  Address(const M& member) : at(&member), type(typeid(M)) {}
  Address(const AnyMember& member) : at(member.at), type(member.type->id) {}
  auto operator<=>(const Address&) const = default;
};

}  // namespace roll
