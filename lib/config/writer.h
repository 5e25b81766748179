// Struct -> YAML: every key with its value, in the order of fields(). Reading it back gives the same struct.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "config/walk.h"

namespace roll {

/// A scalar as YAML that reads back as this text: plain where that is safe, in double quotes otherwise.
std::string yaml_text(const std::string& text);
/// The shortest decimal that reads back as this number.
std::string yaml_number(double value);

inline std::string yaml_scalar(bool value) {
  return value ? "true" : "false";
}
inline std::string yaml_scalar(int64_t value) {
  return fmt::format("{}", value);
}
inline std::string yaml_scalar(double value) {
  return yaml_number(value);
}
inline std::string yaml_scalar(const std::string& value) {
  return yaml_text(value);
}
template <class T>
requires requires(const T& value) {
  name_of(value);
}
std::string yaml_scalar(const T& value) {
  return std::string(name_of(value));
}

template <class T>
requires requires(const T& value) {
  to_config_text(value);
}
std::string yaml_scalar(const T& value) {
  return yaml_text(to_config_text(value));
}
template <class T>
requires(!HasFields<T>) std::string yaml_scalar(const std::vector<T>& values) {
  std::string list;
  for (const T& value : values) list += (list.empty() ? "" : ", ") + yaml_scalar(value);
  return "[" + list + "]";
}
template <class T>
std::string yaml_scalar(const std::optional<T>& value) {
  return value ? yaml_scalar(*value) : "null";
}

class YamlWriter {
 public:
  explicit YamlWriter(int indent = 0) : indent_(indent) {}

  template <class M>
  void operator()(const char* key, M& member, const char*, const Range& = {}) {
    write(key, member);
  }
  void bool_or_text(const char* key, std::string& member, const char*) {
    line(key, member == "true" || member == "false" ? member : yaml_text(member));
  }
  void noted(KeyList, const char*) {}
  void refused(KeyList, const char*) {}
  void refused_above_one(KeyList, const char*) {}

  std::string text() const { return text_; }

 private:
  template <class M>
  void write(const std::string& key, M& member) {
    if constexpr (HasFields<M>) {
      YamlWriter inner(indent_ + 2);
      member.fields(inner);
      group(key, inner.text());
    } else {
      line(key, yaml_scalar(member));
    }
  }
  template <class T>
  void write(const std::string& key, std::map<std::string, T>& members) {
    YamlWriter inner(indent_ + 2);
    for (auto& [name, member] : members) inner.write(yaml_text(name), member);
    group(key, inner.text());
  }

  template <HasFields T>
  void write(const std::string& key, std::vector<T>& members) {
    std::string items;
    for (T& member : members) {
      YamlWriter inner(indent_ + 4);
      member.fields(inner);
      std::string item = inner.text();
      item[indent_ + 2] = '-';
      items += item;
    }
    members.empty() ? line(key, "[]") : group(key, items);
  }

  void line(const std::string& key, const std::string& value);
  void group(const std::string& key, const std::string& inner);

  int indent_;
  std::string text_;
};

/// The whole configuration as YAML.
template <HasFields T>
std::string to_yaml(T config) {
  YamlWriter writer;
  config.fields(writer);
  return writer.text();
}

}  // namespace roll
