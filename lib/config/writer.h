// Struct -> YAML: every key with its value, in the order of fields(). Reading it back gives the same struct.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>

#include "config/from_env.h"
#include "config/walk.h"

namespace roll {

/// A scalar as YAML that reads back as this text: plain where that is safe, in double quotes otherwise.
std::string yaml_text(const std::string& text);
/// In double quotes, interpolations kept.
std::string quoted_yaml(const std::string& text);
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
  explicit YamlWriter(const FromEnv& from_env, int indent = 0, std::string prefix = "")
      : from_env_(from_env), indent_(indent), prefix_(std::move(prefix)) {}

  template <class M>
  void operator()(const char* key, M& member, const char*, const Range& = {}) {
    write(key, key, member);
  }
  void bool_or_text(const char* key, std::string& member, const char*) {
    line(key, member == "true" || member == "false" ? member : scalar(prefix_ + key, member));
  }
  void noted(KeyList, const char*) {}
  void refused(KeyList, const char*) {}
  void refused_above_one(KeyList, const char*) {}

  std::string text() const { return text_; }

 private:
  /// `name`: the key's part of the path; `key`: the same as YAML.
  template <class M>
  void write(const std::string& name, const std::string& key, M& member) {
    if constexpr (HasFields<M>) {
      YamlWriter inner = below(name, 2);
      member.fields(inner);
      group(key, inner.text());
    } else {
      line(key, scalar(prefix_ + name, member));
    }
  }
  template <class T>
  void write(const std::string& name, const std::string& key, std::map<std::string, T>& members) {
    YamlWriter inner = below(name, 2);
    for (auto& [inner_name, member] : members) inner.write(inner_name, yaml_text(inner_name), member);
    group(key, inner.text());
  }

  template <HasFields T>
  void write(const std::string& name, const std::string& key, std::vector<T>& members) {
    std::string items;
    for (T& member : members) {
      YamlWriter inner = below(fmt::format("{}[{}]", name, &member - members.data()), 4);
      member.fields(inner);
      std::string item = inner.text();
      item[indent_ + 2] = '-';
      items += item;
    }
    members.empty() ? line(key, "[]") : group(key, items);
  }

  /// The value, or the interpolation that it came from.
  template <class M>
  std::string scalar(const std::string& path, const M& member) const {
    const std::string* text = from_env_.at(path);
    if (!text) return yaml_scalar(member);
    if constexpr (requires { to_config_text(member); })  // an empty secret is none
      return to_config_text(member).empty() ? yaml_scalar(member) : quoted_yaml(*text);
    return *text;
  }
  std::string scalar(const std::string& path, const std::string& member) const {
    const std::string* text = from_env_.at(path);
    if (!text) text = from_env_.like(member);
    return text ? quoted_yaml(*text) : yaml_scalar(member);
  }
  template <class M>
  std::string scalar(const std::string& path, const std::optional<M>& member) const {
    return member ? scalar(path, *member) : "null";
  }
  template <class M>
  requires(!HasFields<M>) std::string scalar(const std::string& path, const std::vector<M>& members)
  const {
    std::string list;
    for (size_t i = 0; i < members.size(); ++i) {
      const std::string* text = from_env_.at(fmt::format("{}[{}]", path, i));
      list += (i ? ", " : "") + (text ? quoted_yaml(*text) : scalar(std::string(), members[i]));
    }
    return "[" + list + "]";
  }

  YamlWriter below(const std::string& name, int indent) const {
    return YamlWriter(from_env_, indent_ + indent, prefix_ + name + ".");
  }
  void line(const std::string& key, const std::string& value);
  void group(const std::string& key, const std::string& inner);

  const FromEnv& from_env_;
  int indent_;
  std::string prefix_;  // of paths
  std::string text_;
};

/// The whole configuration as YAML; what came from the environment is written as the interpolation that it was.
template <HasFields T>
std::string to_yaml(T config, const FromEnv& from_env = {}) {
  YamlWriter writer(from_env);
  config.fields(writer);
  return writer.text();
}

}  // namespace roll
