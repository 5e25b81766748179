// Node -> struct: the visitor that fills a struct's members by its fields(), checks types and names unknown keys.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/nearest.h"
#include "config/read_context.h"
#include "config/scalar.h"
#include "config/walk.h"

namespace roll {

/// A type that is one YAML scalar (or a list, which is given as its text "[a, b]"), such as a device mapping:
/// `from_config_text(text, T&)` throws UserError with a rule, `to_config_text(const T&)` writes it back.
template <class T>
concept HasConfigText = requires(const std::string& text, T& value) {
  from_config_text(text, value);
};

/// "a whole number", ...: what a scalar member of type T takes.
template <class T>
constexpr const char* wanted() {
  if constexpr (std::is_same_v<T, bool>)
    return "true or false";
  else if constexpr (std::is_same_v<T, int64_t>)
    return "a whole number";
  else if constexpr (std::is_same_v<T, double>)
    return "a number";
  else
    return "text";
}

/// The scalar as T; nullopt when it is none. Text in quotes is no number; numbers may be text (a name such as 7).
template <class T>
std::optional<T> scalar_as(const Node& node) {
  if (node.kind != Node::Kind::kScalar) return std::nullopt;
  if constexpr (std::is_same_v<T, std::string>)
    return node.text;
  else if (node.quoted)
    return std::nullopt;
  else if constexpr (std::is_same_v<T, bool>)
    return parse_bool(node.text);
  else if constexpr (std::is_same_v<T, int64_t>)
    return parse_whole(node.text);
  else
    return parse_number(node.text);
}

/// "; write 1000" for 1e3 where a whole number is needed.
std::string whole_number_advice(const Node& node);

template <HasFields T>
void read_struct(ReadContext& context, const Node& node, const std::string& path, T& out);

template <class T>
void read_value(ReadContext& context, const Node& node, const std::string& path, T& out) {
  if constexpr (HasFields<T>) {
    read_struct(context, node, path, out);
  } else if constexpr (IsWord<T>) {
    if (node.kind != Node::Kind::kScalar)
      return context.complain(node, path, fmt::format("one word is needed, this is {}", describe(node)));
    if (Words<T>::read(node.text, out)) return;
    if constexpr (requires { Words<T>::why_refused(node.text); })
      if (const std::string reason = Words<T>::why_refused(node.text); !reason.empty())
        return context.complain(node, path, reason);
    if constexpr (requires { why_foreign(out, node.text); })
      if (const std::string reason = why_foreign(out, node.text); !reason.empty())
        return context.complain_foreign(node, path, reason);
    const std::vector<std::string> words = Words<T>::all();
    context.complain(node, path,
                     fmt::format("must be one of {}{}", fmt::join(words, ", "), did_you_mean(node.text, words)));
  } else if constexpr (HasConfigText<T>) {
    if (node.kind == Node::Kind::kNull || node.kind == Node::Kind::kMap)
      return context.complain(node, path, fmt::format("text or a list is needed, this is {}", describe(node)));
    try {
      from_config_text(node.kind == Node::Kind::kList ? flow_text(node) : node.text, out);
    } catch (const UserError& e) {
      context.complain(node, path, e.what());
    }
  } else {
    if (const auto value = scalar_as<T>(node)) {
      out = *value;
      return;
    }
    const std::string advice = std::is_same_v<T, int64_t> ? whole_number_advice(node) : "";
    context.complain(node, path, fmt::format("{} is needed, this is {}{}", wanted<T>(), describe(node), advice));
  }
}

template <class T>
void read_value(ReadContext& context, const Node& node, const std::string& path, std::optional<T>& out) {
  if (node.kind == Node::Kind::kNull) return out.reset();
  const size_t num_complaints = context.complaints.size();
  T value{};
  read_value(context, node, path, value);
  if (context.complaints.size() == num_complaints) out = std::move(value);
}

template <class T>
void read_value(ReadContext& context, const Node& node, const std::string& path, std::vector<T>& out) {
  out.clear();
  if (node.kind == Node::Kind::kNull) return;
  const bool one = node.kind == Node::Kind::kScalar;  // a single value is a list of one
  if (node.kind == Node::Kind::kMap) return context.complain(node, path, "a list is needed, this is a mapping");
  for (const Node& item : one ? std::vector<Node>{node} : node.list) {
    if (!item.error.empty()) {
      context.complain(item, path, item.error);
      continue;
    }
    T value{};
    const std::string numbered = fmt::format("{}[{}]", path, out.size());
    context.from_env.add(numbered, item);
    const std::string inner = HasFields<T> ? numbered : path;
    read_value(context, item, inner, value);
    out.push_back(std::move(value));
  }
}

template <class T>
void read_value(ReadContext& context, const Node& node, const std::string& path, std::map<std::string, T>& out) {
  out.clear();
  if (node.kind == Node::Kind::kNull) return;
  if (node.kind != Node::Kind::kMap)
    return context.complain(node, path, fmt::format("a mapping is needed, this is {}", describe(node)));
  for (const MapEntry& entry : node.map) {
    const std::string inner = path + "." + entry.key;
    context.set[inner] = {entry.place, shown_value(inner, entry.value)};
    context.from_env.add(inner, entry.value);
    if (!entry.value.error.empty())
      context.complain(entry.value, inner, entry.value.error);
    else
      read_value(context, entry.value, inner, out[entry.key]);
  }
}

/// Reads one mapping into one struct.
class StructReader {
 public:
  StructReader(ReadContext& context, const Node& node, std::string prefix)
      : context_(context), node_(node), prefix_(std::move(prefix)), used_(node.map.size()) {}

  template <class M>
  void operator()(const char* key, M& member, const char*, const Range& range = finite()) {
    const Node* value = use(key);
    if (!value) return;
    read_value(context_, *value, prefix_ + key, member);
    constexpr bool may_be_null = requires {
      member.has_value();
    };
    if (const auto wrong = outside(range, member))
      context_.complain(*value, prefix_ + key, range.rule(*wrong) + (may_be_null ? ", or null" : ""));
  }

  /// Whether the key is given.
  bool has(std::string_view key) const {
    return std::ranges::any_of(node_.map, [&](const MapEntry& entry) { return entry.key == key; });
  }
  void bool_or_text(const char* key, std::string& member, const char*);
  void noted(KeyList keys, const char* reason);
  void refused(KeyList keys, const char* reason) { refuse(keys, reason, false); }
  void refused_above_one(KeyList keys, const char* reason) { refuse(keys, reason, true); }

  /// Call after fields(): complains about the keys that nobody asked for.
  void finish();

 private:
  /// The key's value, marked as used; nullptr when it is not set or its interpolation failed.
  const Node* use(const char* key);
  void refuse(KeyList keys, const char* reason, bool or_one);

  ReadContext& context_;
  const Node& node_;
  std::string prefix_;  // "" or "actor_train."
  std::vector<bool> used_;
  std::vector<std::string> known_;
};

template <HasFields T>
void read_struct(ReadContext& context, const Node& node, const std::string& path, T& out) {
  if (node.kind == Node::Kind::kNull) return;  // `strategy_config: ~` keeps the defaults
  if (node.kind != Node::Kind::kMap)
    return context.complain(node, path, fmt::format("a mapping is needed, this is {}", describe(node)));
  StructReader reader(context, node, path.empty() ? path : path + ".");
  out.fields(reader);
  reader.finish();
}

}  // namespace roll
