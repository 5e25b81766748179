// Values that people write as words. An enum has one table of its names, which reading, error texts, --help and writing
// share; a registry (rows with a `name`, to which more are added over time) is chosen from in the same way.
//
//   enum class Side { kLeft, kRight };
//   constexpr auto names_of(Side) {
//     return std::to_array<Named<Side>>({{Side::kLeft, "left"}, {Side::kRight, "right"}}); }
//
//   struct Rule { const char* name; ... };
//   std::span<const Rule> rows_of(const Rule*);      // the registry; Chosen<Rule> is one of its rows
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

/// An enum with a table. A value may have several names: all are read, the first is written.
template <class E>
concept HasNames = std::is_enum_v<E> && requires {
  names_of(E{});
};

/// A name that other programs know and this one refuses, and why. An enum may have a table of those too:
/// `refused_names_of(E)`.
struct RefusedName {
  const char* name;
  const char* reason;
};

/// A row of a registry. Never null: there is always a chosen row.
template <class R>
class Chosen {
 public:
  /// Bug when no row has that name: it is a literal in our own code.
  Chosen(const char* name);
  explicit Chosen(const R& row) : row_(&row) {}

  const R* operator->() const { return row_; }
  const R& operator*() const { return *row_; }
  bool operator==(const Chosen&) const = default;

 private:
  const R* row_;
};

/// "'name' is in its table or registry" does not hold.
[[noreturn]] inline void throw_unknown_name(std::string_view name) {
  throw_bug(__FILE__, __LINE__, fmt::format("every {} has its row", name));
}

template <HasNames E>
std::string_view name_of(E value) {
  for (const auto& [known, name] : names_of(value))
    if (known == value) return name;
  throw_unknown_name("value of an enum");
}
template <class R>
std::string_view name_of(const Chosen<R>& chosen) {
  return chosen->name;
}

/// The rows of a type whose values are written as words: an enum's table, or a registry. Asked with a null pointer.
template <HasNames E>
auto word_rows(const E*) {
  return names_of(E{});
}
template <class R>
std::span<const R> word_rows(const Chosen<R>*) {
  return rows_of(static_cast<const R*>(nullptr));
}
template <class E>
void choose(const Named<E>& row, E& out) {
  out = row.value;
}
template <class R>
void choose(const R& row, Chosen<R>& out) {
  out = Chosen<R>(row);
}

/// What a key of type T may be.
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
  /// Whether `name` is known; then `out` becomes its value.
  static bool read(std::string_view name, T& out) {
    for (const auto& row : word_rows(static_cast<const T*>(nullptr))) {
      if (row.name != name) continue;
      choose(row, out);
      return true;
    }
    return false;
  }
  /// Why a name that is not known is refused; "" where nobody says.
  static std::string why_refused(std::string_view name) {
    if constexpr (requires { refused_names_of(T{}); })
      for (const RefusedName& row : refused_names_of(T{}))
        if (row.name == name) return row.reason;
    return "";
  }
};

/// A type that is written as one of a list of words.
template <class T>
concept IsWord = requires(std::string_view name, T& out) {
  Words<T>::read(name, out);
};

/// The value of a name that our own code knows. Bug: there is none.
template <IsWord T>
T named(std::string_view name, T value = {}) {
  if (!Words<T>::read(name, value)) throw_unknown_name(name);
  return value;
}

template <class R>
Chosen<R>::Chosen(const char* name) : row_(nullptr) {
  for (const R& row : rows_of(static_cast<const R*>(nullptr)))
    if (std::string_view(row.name) == name) row_ = &row;
  if (!row_) throw_unknown_name(name);
}

}  // namespace roll
