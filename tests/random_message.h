// Messages for tests: any of a type, with the values that codecs get wrong, and the list of a type's fields as text.
#pragma once

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "base/message.h"

namespace roll::test {

/// Fills a message by its own list of fields.
class RandomFields {
 public:
  explicit RandomFields(uint32_t seed) : random_(seed) {}

  template <class T>
  void operator()(const char* /*name*/, T& value) {
    fill(value);
  }
  template <class T>
  void fill(T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      using Limits = std::numeric_limits<T>;
      constexpr auto kValues = std::to_array<T>({0, T(-0.0), T(0.1), -Limits::infinity(), Limits::max(),
                                                 Limits::denorm_min(), Limits::quiet_NaN(), -Limits::quiet_NaN()});
      value = kValues[below(kValues.size())];
    } else if constexpr (std::is_same_v<T, bool>) {
      value = below(2) == 1;
    } else if constexpr (std::is_integral_v<T>) {
      constexpr auto kValues = std::to_array<T>(
          {0, 1, T(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0x0123456789abcdef)});
      value = kValues[below(kValues.size())];
    } else if constexpr (std::is_enum_v<T>) {
      do value = static_cast<T>(below(16));
      while (!is_known(value));
    } else if constexpr (std::is_same_v<T, std::string>) {
      value.assign(below(4) == 0 ? 70'000 : below(4), static_cast<char>(below(256)));
    } else if constexpr (std::is_same_v<T, Json>) {
      value = below(2) == 0 ? Json() : Json{{"a", {1, 0.1, "b"}}, {"c", Json::object()}};
    } else if constexpr (kIsOptional<T>) {
      if (below(2) == 1) fill(value.emplace());
    } else if constexpr (kIsMap<T>) {
      for (uint32_t left = below(4); left > 0; --left) {
        typename T::key_type key{};
        fill(key);
        fill(value[key]);
      }
    } else if constexpr (kIsList<T>) {
      value.resize(below(4));
      for (auto& entry : value) fill(entry);
    } else {
      value.fields(*this);
    }
  }

 private:
  uint32_t below(size_t end) {
    return std::uniform_int_distribution<uint32_t>(0, static_cast<uint32_t>(end) - 1)(random_);
  }

  std::mt19937 random_;
};

/// What a message looks like: "{prompt i32, length i32}".
class FieldText {
 public:
  template <class T>
  void operator()(const char* name, T& /*value*/) {
    text_ += (text_.empty() ? "" : ", ") + std::string(name) + " " + of<T>();
  }
  template <class T>
  static std::string of() {
    if constexpr (std::is_same_v<T, bool>) {
      return "bool";
    } else if constexpr (std::is_arithmetic_v<T>) {
      return (std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
    } else if constexpr (std::is_enum_v<T>) {
      return "enum " + of<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      return "text";
    } else if constexpr (std::is_same_v<T, Json>) {
      return "json";
    } else if constexpr (kIsOptional<T>) {
      return of<typename T::value_type>() + "?";
    } else if constexpr (kIsMap<T>) {
      return "[" + of<typename T::key_type>() + ": " + of<typename T::mapped_type>() + "]";
    } else if constexpr (kIsList<T>) {
      return "[" + of<typename T::value_type>() + "]";
    } else {
      FieldText list;
      T().fields(list);
      return "{" + list.text_ + "}";
    }
  }

 private:
  std::string text_;
};

template <class M>
std::string layout_of() {
  return std::string(M::kMessage.tag) + " " + std::to_string(M::kMessage.version) + " " + FieldText::of<M>();
}

}  // namespace roll::test
