// Reads tests/golden/maths/*.json (made by tests/oracles/make_golden_maths.py) into configurations and packed tensors.
#pragma once

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/walk.h"
#include "track/metrics.h"

namespace roll::testing {

/// A field visitor: members that the JSON object names are set, all others keep their defaults.
struct FromJson {
  const Json& json;
  template <class T>
  void operator()(const char* key, T& member, const char*, const Range& = {}) {
    if (json.contains(key)) read(json.at(key), member);
  }
  void noted(std::initializer_list<const char*>, const char*) {}

  template <class T>
  static void read(const Json& value, T& member) {
    if constexpr (HasFields<T>) {
      FromJson inner{value};
      member.fields(inner);
    } else if constexpr (IsWord<T>) {
      member = named<T>(value.get<std::string>(), member);
    } else {
      member = value.get<T>();
    }
  }
  template <class T>
  static void read(const Json& value, std::optional<T>& member) {
    read(value, member.emplace());
  }
  template <class T>
  static void read(const Json& value, std::vector<T>& members) {
    members.clear();
    for (const Json& item : value) read(item, members.emplace_back());
  }
};

template <class Config>
Config config_from(const Json& json) {
  Config config;
  FromJson visitor{json};
  config.fields(visitor);
  return config;
}

inline Json golden_maths(const std::string& name) {
  return read_json(std::filesystem::path(ROLL_SOURCE_DIR) / "tests/golden/maths" / (name + ".json"));
}

inline at::Tensor floats(const Json& list) {
  return at::tensor(list.get<std::vector<double>>(), at::kFloat);
}

/// |a - b| <= tolerance * max(1, |b|), element by element.
inline bool near(const at::Tensor& a, const at::Tensor& b, double tolerance) {
  return a.sizes() == b.sizes() && at::allclose(a.to(at::kDouble), b.to(at::kDouble), tolerance, tolerance);
}

inline std::map<std::string, double> as_map(const Metrics& metrics) {
  std::map<std::string, double> result;
  for (const auto& [name, value] : metrics.values()) result[name] = value;
  return result;
}

inline void check_metrics(const Json& expected, const std::map<std::string, double>& found, double tolerance) {
  for (const auto& [name, value] : expected.items()) {
    INFO(name);
    REQUIRE(found.contains(name));
    CHECK(found.at(name) == Approx(value.get<double>()).epsilon(tolerance).margin(tolerance * 0.01));
  }
}

}  // namespace roll::testing
