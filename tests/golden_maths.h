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
#include "config/json_node.h"
#include "config/keys.h"
#include "config/reader.h"
#include "track/metrics.h"

namespace roll::testing {

/// Sets the members that the JSON object names; all others keep their defaults.
class FromJson : public Keys {
 public:
  explicit FromJson(const Json& json) : json_(json) {}
  void visit(const KeyLine& line, const AnyMember& member) override {
    if (json_.contains(line.key)) read(json_.at(line.key), member);
  }

 private:
  static void read(const Json& value, const AnyMember& member) {
    if (member.type->shape == MemberType::Shape::kGroup) {
      FromJson inner(value);
      return member.type->fields(member.at, inner);
    }
    if (member.is_group()) {
      member.type->clear(member.at);
      for (const Json& item : value)
        member.type->add(member.at, "", [&](void* entry) { return read(item, {entry, *member.type->inner}), true; });
      return;
    }
    ReadContext context;
    read_value(context, to_node(value), "golden", member);
    context.complaints.throw_if_any();
  }

  const Json& json_;
};

template <class Config>
Config config_from(const Json& json) {
  Config config;
  FromJson visitor(json);
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
