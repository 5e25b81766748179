// Typed look-ups in a model's config.json, for the code that reads a ModelSpec (spec.cpp, rope.cpp, mixture.cpp, ...).
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace roll {

/// Reader of one JSON object. A value of null counts as absent, as in transformers. Each typed look-up returns `absent`
/// (if that is given) for an absent key. It throws UserError, which names file, key and value, if the key is absent
/// and `absent` is not given, or if the value has another type or is out of range.
class ConfigReader {
 public:
  /// `config` must be an object and outlive the reader. `origin` begins the messages: the file's path.
  ConfigReader(const Json& config, std::string origin) : config_(config), origin_(std::move(origin)) {}

  /// True if config.json has the key, even if its value is null.
  bool names(const char* key) const { return config_.contains(key); }

  /// Returns the key's value; nullptr if it is absent or null.
  const Json* find(const char* key) const {
    const auto found = config_.find(key);
    return found == config_.end() || found->is_null() ? nullptr : &*found;
  }

  /// Returns a whole number from `least` to `most`.
  int64_t count(const char* key, int64_t most, std::optional<int64_t> absent = {}, int64_t least = 1) const {
    const Json* value = find(key);
    if (!value && absent) return *absent;
    const std::string rule = fmt::format("a whole number of {} to {} is needed", least, most);
    if (!value) throw user_error("{}: {}: missing; {}", origin_, key, rule);
    const bool is_count = value->is_number_integer() && value->get<double>() >= static_cast<double>(least) &&
                          value->get<double>() <= static_cast<double>(most);
    if (!is_count) fail(key, rule);
    return value->get<int64_t>();
  }

  /// Returns a finite number above 0.
  double positive(const char* key, std::optional<double> absent = {}) const {
    const Json* value = find(key);
    if (!value && absent) return *absent;
    const char* const rule = "a number above 0 is needed";
    if (!value) throw user_error("{}: {}: missing; {}", origin_, key, rule);
    if (!is_positive(*value)) fail(key, rule);
    return value->get<double>();
  }

  /// Returns a list of exactly `count` finite numbers above 0; the key must be present.
  std::vector<double> positive_list(const char* key, size_t count) const {
    const Json* value = find(key);
    const std::string rule = fmt::format("a list of {} numbers above 0 is needed", count);
    if (!value) throw user_error("{}: {}: missing; {}", origin_, key, rule);
    if (!value->is_array() || value->size() != count) fail(key, rule);
    for (const Json& number : *value)
      if (!is_positive(number)) fail(key, rule);
    return value->get<std::vector<double>>();
  }

  /// Returns true or false.
  bool flag(const char* key, bool absent = false) const {
    const Json* value = find(key);
    if (value && !value->is_boolean()) fail(key, "true or false is needed");
    return value ? value->get<bool>() : absent;
  }

  /// Returns a string. `absent` must not be nullptr.
  std::string text(const char* key, const char* absent) const {
    const Json* value = find(key);
    if (value && !value->is_string()) fail(key, "a string is needed");
    return value ? value->get<std::string>() : absent;
  }

  /// Returns a reader of the object under `key`, which must be present and not null (see find()).
  ConfigReader object(const char* key) const {
    const Json* value = find(key);
    if (!value->is_object()) fail(key, "an object is needed");
    return {*value, fmt::format("{}: {}", origin_, key)};
  }

  /// Throws UserError "origin: key = value: rule".
  [[noreturn]] void fail(const char* key, const std::string& rule) const {
    const Json* value = find(key);
    const bool is_infinite = value && value->is_number() && !std::isfinite(value->get<double>());
    throw user_error("{}: {} = {}: {}", origin_, key,
                     !value        ? "(absent)"
                     : is_infinite ? fmt::format("{}", value->get<double>())
                                   : to_line(*value),
                     rule);
  }

 private:
  static bool is_positive(const Json& value) {
    return value.is_number() && value.get<double>() > 0 && std::isfinite(value.get<double>());
  }

  const Json& config_;
  std::string origin_;
};

}  // namespace roll
