// Converts between values and the words that people write for them. An enum has one table of names for reading, error
// texts, --help and writing. A registry (rows with a `name`, extended over time) is used in the same way.
//
//   enum class Side { kLeft, kRight };
//   constexpr auto enum_names(Side) {
//     return std::to_array<Named<Side>>({{Side::kLeft, "left"}, {Side::kRight, "right"}}); }
//
//   struct Rule { const char* name; ... };
//   std::span<const Rule> registry(const Rule*);      // the registry; a Chosen<Rule> is one of its rows
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace roll {

template <class E>
struct Named {
  E value;
  const char* name;
};

/// An enum with a table of names. A value may have several: all are read, the first is written.
template <class E>
concept HasNames = std::is_enum_v<E> && requires {
  enum_names(E{});
};

/// A name from other programs that is refused, and why. An enum may have a table: `refused_enum_names(E)`.
struct RefusedName {
  const char* name;
  const char* reason;
};

/// A row of a registry. Never null: there is always a chosen row.
template <class R>
class Chosen {
 public:
  /// Selects the row with that name, a literal in our own code. Bug: no row has it.
  Chosen(const char* name);
  explicit Chosen(const R& row) : row_(&row) {}

  const R* operator->() const { return row_; }
  const R& operator*() const { return *row_; }
  bool operator==(const Chosen&) const = default;

 private:
  const R* row_;
};

/// Throws the Bug that a name or value is not in its table or registry.
[[noreturn]] inline void throw_unknown_name(std::string_view name) {
  throw_bug(__FILE__, __LINE__, fmt::format("every {} has its row", name));
}

template <HasNames E>
std::string_view enum_name(E value) {
  for (const auto& [known, name] : enum_names(value))
    if (known == value) return name;
  throw_unknown_name("value of an enum");
}
template <class R>
std::string_view enum_name(const Chosen<R>& chosen) {
  return chosen->name;
}

/// Returns the rows for a type: an enum's table, or a registry. The argument is a null pointer.
template <HasNames E>
auto word_rows(const E*) {
  return enum_names(E{});
}
template <class R>
std::span<const R> word_rows(const Chosen<R>*) {
  return registry(static_cast<const R*>(nullptr));
}
template <class E>
void choose(const Named<E>& row, E& out) {
  out = row.value;
}
template <class R>
void choose(const R& row, Chosen<R>& out) {
  out = Chosen<R>(row);
}

/// The words that a key of type T accepts.
template <class T>
struct Words;

template <class T>
requires requires(const T* tag) {
  word_rows(tag);
}
struct Words<T> {
  static std::vector<std::string> all() {
    std::vector<std::string> names;
    for (const auto& row : word_rows(static_cast<const T*>(nullptr))) names.emplace_back(row.name);
    return names;
  }
  /// Returns true if `name` is known, and sets `out` to its value.
  static bool read(std::string_view name, T& out) {
    for (const auto& row : word_rows(static_cast<const T*>(nullptr))) {
      if (row.name != name) continue;
      choose(row, out);
      return true;
    }
    return false;
  }
  /// Returns why an unknown name is refused; "" if there is no reason on record.
  static std::string why_refused(std::string_view name) {
    if constexpr (requires { refused_enum_names(T{}); })
      for (const RefusedName& row : refused_enum_names(T{}))
        if (row.name == name) return row.reason;
    return "";
  }
};

/// A type that is written as one of a list of words.
template <class T>
concept IsWord = requires(std::string_view name, T& out) {
  Words<T>::read(name, out);
};

/// Returns the value for a name from our own code. Bug: the name is unknown.
template <IsWord T>
T named(std::string_view name, T value = {}) {
  if (!Words<T>::read(name, value)) throw_unknown_name(name);
  return value;
}

template <class R>
Chosen<R>::Chosen(const char* name) : row_(nullptr) {
  for (const R& row : registry(static_cast<const R*>(nullptr)))
    if (std::string_view(row.name) == name) row_ = &row;
  if (!row_) throw_unknown_name(name);
}

}  // namespace roll
