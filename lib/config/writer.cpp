#include "config/writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "config/interpolation.h"
#include "config/keys.h"
#include "config/scalar.h"

namespace roll {

namespace {

bool is_plain_safe(const std::string& text) {
  if (is_null_word(text) || parse_bool(text) || parse_number(text)) return false;
  const auto safe = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '/' || c == '.' || c == '-' || c == '+';
  };
  return (std::isalpha(static_cast<unsigned char>(text[0])) || text[0] == '/' || text[0] == '.') &&
         std::all_of(text.begin(), text.end(), safe);
}

/// Returns the value of the key at `path` as YAML, or the interpolation that it came from.
std::string value_yaml(const std::string& path, const AnyMember& member, const FromEnv& from_env) {
  if (member.type->shape == MemberType::Shape::kOptional) {
    std::string text = "null";
    member.each([&](const std::string&, const AnyMember& value) { text = value_yaml(path, value, from_env); });
    return text;
  }
  if (member.type->shape == MemberType::Shape::kList) {
    std::string list;
    member.each([&](const std::string& name, const AnyMember& entry) {
      const std::string* const origin = from_env.find_by_path(member.entry_path(path, name));
      list += (list.empty() ? "" : ", ") + (origin ? quoted_yaml(*origin) : value_yaml("", entry, from_env));
    });
    return "[" + list + "]";
  }
  const std::string text = member.type->text(member.at);
  const bool is_string = member.type->id == typeid(std::string);
  const std::string* origin = from_env.find_by_path(path);
  if (!origin && is_string) origin = from_env.find_by_text(text);
  const bool is_no_secret = text.empty() && !is_string;
  if (!origin || is_no_secret) return member.type->is_text() ? yaml_text(text) : text;
  return member.type->is_text() ? quoted_yaml(*origin) : *origin;
}

class YamlWriter : public Keys {
 public:
  explicit YamlWriter(const FromEnv& from_env, size_t indent = 0, std::string prefix = "")
      : from_env_(from_env), indent_(indent), prefix_(std::move(prefix)) {}

  void visit(const KeyLine& line, const AnyMember& member) override {
    const bool is_bool = line.is_bool_or_text && (member.text() == "true" || member.text() == "false");
    is_bool ? add_line(line.key, member.text()) : write(line.key, line.key, member);
  }
  const std::string& text() const { return text_; }

 private:
  /// Writes a member. `name`: the key as a part of the path; `key`: the same as YAML.
  void write(const std::string& name, const std::string& key, const AnyMember& member) {
    if (!member.is_group()) return add_line(key, value_yaml(prefix_ + name, member, from_env_));
    if (member.type->shape == MemberType::Shape::kList) return write_list(name, key, member);
    YamlWriter inner = nested_writer(name, 2);
    if (member.type->shape == MemberType::Shape::kGroup)
      member.type->fields(member.at, inner);
    else
      member.each([&](const std::string& entry_name, const AnyMember& entry) {
        inner.write(entry_name, yaml_text(entry_name), entry);
      });
    add_group(key, inner.text());
  }

  void write_list(const std::string& part, const std::string& key, const AnyMember& members) {
    std::string items;
    members.each([&](const std::string& number, const AnyMember& member) {
      YamlWriter inner = nested_writer(members.entry_path(part, number), 4);
      member.type->fields(member.at, inner);
      std::string item = inner.text();
      item[indent_ + 2] = '-';
      items += item;
    });
    items.empty() ? add_line(key, "[]") : add_group(key, items);
  }

  YamlWriter nested_writer(const std::string& name, size_t indent) const {
    return YamlWriter(from_env_, indent_ + indent, prefix_ + name + ".");
  }
  void add_line(const std::string& key, const std::string& value) {
    text_ += fmt::format("{:{}}{}: {}\n", "", indent_, key, value);
  }
  void add_group(const std::string& key, const std::string& inner) {
    text_ += inner.empty() ? fmt::format("{:{}}{}: {{}}\n", "", indent_, key)
                           : fmt::format("{:{}}{}:\n{}", "", indent_, key, inner);
  }

  const FromEnv& from_env_;
  size_t indent_;
  std::string prefix_;  // path prefix of the keys
  std::string text_;
};

}  // namespace

std::string yaml_text(const std::string& text) {
  if (is_plain_safe(text)) return text;
  return quoted_yaml(escaped_interpolations(text));
}

std::string quoted_yaml(const std::string& text) {
  return to_line(Json(text));  // JSON's escapes are YAML's
}

std::string yaml_value(const AnyMember& member) {
  return value_yaml("", member, FromEnv());
}

std::string to_yaml(const AnyMember& config, const FromEnv& from_env) {
  YamlWriter writer(from_env);
  config.type->fields(config.at, writer);
  return writer.text();
}

}  // namespace roll
