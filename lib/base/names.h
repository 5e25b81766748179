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
[[noreturn]] void throw_unknown_name(std::string_view name);

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

/// What a key of type T may be: asked with a tag, so that one function serves enums and registries.
template <class T>
struct Words;

template <HasNames E>
struct Words<E> {
  static std::vector<std::string> all() {
    std::vector<std::string> names;
    for (const auto& row : names_of(E{})) names.emplace_back(row.name);
    return names;
  }
  /// Whether `name` is known; then `out` becomes its value.
  static bool read(std::string_view name, E& out) {
    for (const auto& row : names_of(E{})) {
      if (row.name != name) continue;
      out = row.value;
      return true;
    }
    return false;
  }
  /// Why a name that is not known is refused; "" where nobody says.
  static std::string why_refused(std::string_view name) {
    if constexpr (requires { refused_names_of(E{}); })
      for (const RefusedName& row : refused_names_of(E{}))
        if (row.name == name) return row.reason;
    return "";
  }
};

template <class R>
struct Words<Chosen<R>> {
  static std::vector<std::string> all() {
    std::vector<std::string> names;
    for (const R& row : rows_of(static_cast<const R*>(nullptr))) names.emplace_back(row.name);
    return names;
  }
  static bool read(std::string_view name, Chosen<R>& out) {
    for (const R& row : rows_of(static_cast<const R*>(nullptr))) {
      if (row.name != name) continue;
      out = Chosen<R>(row);
      return true;
    }
    return false;
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
