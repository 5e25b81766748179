// Converts between values and the words that people write for them in configurations and flags. An enum has one table
// of names, which reading, writing, error texts and --help share. A registry is a list of structs ("rows") with a
// `name`. Chosen<Rule> is a value that refers to one row of the registry of Rule; it is read and written by the row's
// name.
//
//   enum class Side { kLeft, kRight };
//   constexpr auto enum_names(Side) {
//     return std::to_array<Named<Side>>({{Side::kLeft, "left"}, {Side::kRight, "right"}}); }
//
//   struct Rule { const char* name; ... };
//   std::span<const Rule> registry(const Rule*);   // returns all rows; the argument only selects the overload
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace roll {

/// A row of an enum's table.
template <class E>
struct Named {
  E value;
  const char* name;
};

/// An enum with a table enum_names(E). A value may have several names: all are read, the first is written.
template <class E>
concept HasNames = std::is_enum_v<E> && requires {
  enum_names(E{});
};

/// A name of another program that is refused here, with the reason for the error text. An enum may have a table
/// refused_enum_names(E) of such names.
struct RefusedName {
  const char* name;
  const char* reason;
};

/// A reference to one row of R's registry; never null. Two are equal if they refer to the same row.
template <class R>
class Chosen {
 public:
  /// Selects the row with this name, a literal in our own code. Throws Bug if no row has the name.
  Chosen(const char* name);
  /// Refers to `row`, which must outlive this object.
  explicit Chosen(const R& row) : row_(&row) {}

  const R* operator->() const { return row_; }
  const R& operator*() const { return *row_; }
  bool operator==(const Chosen&) const = default;

 private:
  const R* row_;
};

/// Throws Bug because `name` (or the value described by it) is not in its table or registry.
[[noreturn]] inline void throw_unknown_name(std::string_view name) {
  throw_bug(__FILE__, __LINE__, fmt::format("every {} has its row", name));
}

/// Returns the first name of an enum's value. Throws Bug if the table lacks the value.
template <HasNames E>
std::string_view enum_name(E value) {
  for (const auto& [known, name] : enum_names(value))
    if (known == value) return name;
  throw_unknown_name("value of an enum");
}
/// Returns the name of the chosen row.
template <class R>
std::string_view enum_name(const Chosen<R>& chosen) {
  return chosen->name;
}

/// These two return the rows for a type: an enum's table, or a registry. The argument, a null pointer, only selects the
/// overload.
template <HasNames E>
auto word_rows(const E*) {
  return enum_names(E{});
}
template <class R>
std::span<const R> word_rows(const Chosen<R>*) {
  return registry(static_cast<const R*>(nullptr));
}
/// These two set `out` to the value for a row.
template <class E>
void choose(const Named<E>& row, E& out) {
  out = row.value;
}
template <class R>
void choose(const R& row, Chosen<R>& out) {
  out = Chosen<R>(row);
}

/// Reads the words that a configuration key of type T accepts. T is an enum with names or a Chosen<R>; other types may
/// specialize Words.
template <class T>
struct Words;

template <class T>
requires requires(const T* tag) {
  word_rows(tag);
}
struct Words<T> {
  /// Returns all names, in the order of the table.
  static std::vector<std::string> all() {
    std::vector<std::string> names;
    for (const auto& row : word_rows(static_cast<const T*>(nullptr))) names.emplace_back(row.name);
    return names;
  }
  /// Sets `out` to the value for `name` and returns true; returns false and leaves `out` unchanged if it is unknown.
  static bool read(std::string_view name, T& out) {
    for (const auto& row : word_rows(static_cast<const T*>(nullptr))) {
      if (row.name != name) continue;
      choose(row, out);
      return true;
    }
    return false;
  }
  /// Returns the reason from refused_enum_names() for an unknown name; "" if it has none.
  static std::string why_refused(std::string_view name) {
    if constexpr (requires { refused_enum_names(T{}); })
      for (const RefusedName& row : refused_enum_names(T{}))
        if (row.name == name) return row.reason;
    return "";
  }
};

/// A type with Words: its values are written as one of a list of words.
template <class T>
concept IsWord = requires(std::string_view name, T& out) {
  Words<T>::read(name, out);
};

/// Returns the value for a name from our own code: named<Side>("left"). Throws Bug if the name is unknown. `value` is
/// overwritten by the result; pass one for a T that has no default constructor.
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
