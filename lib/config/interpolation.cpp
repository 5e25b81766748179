#include "config/interpolation.h"

#include <algorithm>
#include <utility>

#include "base/env.h"
#include "base/error.h"
#include "base/nearest.h"
#include "config/scalar.h"
#include "config/yaml.h"

namespace roll {

namespace {

constexpr size_t kMaxText = 1 << 16;
constexpr size_t kMaxWork = 200000;  // nodes copied and references followed
constexpr size_t kMaxChain = 50;     // length of a chain of references, or depth of nesting

struct Failure {
  std::string text;
};

template <class... A>
Failure failure(fmt::format_string<A...> format, A&&... args) {
  return {fmt::format(format, std::forward<A>(args)...)};
}

using Path = std::vector<std::string>;

/// Returns the index just after the `}` that closes the `${` at `start`; npos if none does.
size_t end_of_interpolation(std::string_view text, size_t start) {
  int depth = 0;
  char quote = 0;
  for (size_t i = start; i < text.size(); ++i) {
    if (quote) {
      if (text[i] == quote) quote = 0;
    } else if (depth > 0 && (text[i] == '"' || text[i] == '\'')) {
      quote = text[i];
    } else if (text.substr(i, 2) == "${") {
      ++depth;
      ++i;
    } else if (text[i] == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

class Interpolator {
 public:
  Interpolator(Node& root, std::vector<std::string>& notes) : root_(root), notes_(notes) {}

  void resolve(Node& node, Path& path) {
    for (MapEntry& entry : node.map) {
      path.push_back(entry.key);
      resolve(entry.value, path);
      path.pop_back();
    }
    for (size_t i = 0; i < node.list.size(); ++i) {
      path.push_back(std::to_string(i));
      resolve(node.list[i], path);
      path.pop_back();
    }
    if (node.kind == Node::Kind::kScalar && !node.literal) resolve_scalar(node, path);
  }

 private:
  struct Active {
    const Node* node;
    std::string path;
  };

  void resolve_scalar(Node& node, const Path& path) {
    if (node.text.find("${") == std::string::npos) {
      node.literal = true;
      return;
    }
    for (size_t i = 0; i < active_.size(); ++i)
      if (active_[i].node == &node) throw cycle(i);
    const Place place = node.place;
    active_.push_back({&node, fmt::format("{}", fmt::join(path, "."))});
    try {
      if (active_.size() > kMaxChain) throw failure("a chain of more than {} references", kMaxChain);
      if (node.text.size() > kMaxText) throw failure("longer than {} characters", kMaxText);
      node = evaluate(node.text, path, node.quoted);
      node.place = place;
    } catch (const Failure& f) {
      node.error = f.text;
    }
    node.literal = true;
    active_.pop_back();
  }

  /// Evaluates a text of plain parts and interpolations. A lone interpolation keeps the kind of its target (list, map).
  Node evaluate(std::string_view text, const Path& path, bool quoted, size_t nesting = 0) {
    count_work(1);
    if (nesting > kMaxChain) throw failure("more than {} nested interpolations", kMaxChain);
    if (text.starts_with("${") && end_of_interpolation(text, 0) == text.size())
      return evaluate_one(text.substr(2, text.size() - 3), path, nesting);
    Node result;
    result.kind = Node::Kind::kScalar;
    result.quoted = quoted;
    bool from_env = false;
    for (size_t i = 0; i < text.size();) {
      if (text.substr(i, 3) == "\\${") {
        result.text += "${";
        result.env_text += "\\${";
        i += 3;
      } else if (text.substr(i, 2) == "${") {
        const size_t end = end_of_interpolation(text, i);
        if (end == std::string_view::npos) throw failure("a ${{ has no closing }}; write \\${{ for a literal ${{");
        const Node part = evaluate_one(text.substr(i + 2, end - i - 3), path, nesting);
        result.text += as_text(part);
        result.env_text += portable_text(part);
        from_env = from_env || !part.env_text.empty();
        i = end;
      } else {
        result.text += text[i];
        result.env_text += text[i++];
      }
      if (result.text.size() > kMaxText) throw failure("grows beyond {} characters", kMaxText);
    }
    if (!from_env) result.env_text.clear();
    return result;
  }

  /// Returns a text that interpolates to this node's text, with ${oc.env:...} for the parts from the environment.
  static std::string portable_text(const Node& node) {
    return node.env_text.empty() ? escaped_interpolations(as_text(node)) : node.env_text;
  }

  static std::string as_text(const Node& node) {
    if (node.kind == Node::Kind::kNull) return "null";
    if (node.kind != Node::Kind::kScalar) throw failure("{} cannot be part of a text", describe(node));
    return node.text;
  }

  /// Evaluates the text between `${` and `}`.
  Node evaluate_one(std::string_view inside, const Path& path, size_t nesting) {
    const size_t colon = inside.find(':');
    if (colon != std::string_view::npos && colon < inside.find("${"))
      return call_resolver(trim(inside.substr(0, colon)), inside.substr(colon + 1), path, nesting + 1);
    const std::string target = as_text(evaluate(trim(inside), path, false, nesting + 1));
    return follow_reference(target, path);
  }

  Node call_resolver(std::string_view resolver, std::string_view argument, const Path& path, size_t nesting) {
    if (resolver != "oc.env") throw failure("unknown resolver '{}'; only oc.env is supported", resolver);
    size_t comma = 0;
    while (comma < argument.size() && argument[comma] != ',')
      comma = argument.substr(comma, 2) == "${" ? std::min(end_of_interpolation(argument, comma), argument.size())
                                                : comma + 1;
    const Node name_node = evaluate(trim(argument.substr(0, comma)), path, false, nesting);
    const std::string name = as_text(name_node);
    if (const auto value = env(name)) {
      const bool is_plain = argument.find("${") == std::string_view::npos;  // else the default may refer to keys
      return environment_scalar(
          *value, fmt::format("${{oc.env:{}}}", is_plain ? std::string(argument) : portable_text(name_node)));
    }
    if (comma >= argument.size())
      throw failure("the environment variable {0} is not set; set it, or write ${{oc.env:{0},default}}", name);
    const std::string_view fallback = trim(argument.substr(comma + 1));
    const bool quoted =
        fallback.size() >= 2 && (fallback[0] == '"' || fallback[0] == '\'') && fallback.back() == fallback[0];
    return quoted ? evaluate(fallback.substr(1, fallback.size() - 2), path, true, nesting)
                  : parse_null(evaluate(fallback, path, false, nesting));
  }

  static Node environment_scalar(const std::string& text, const std::string& env_text) {
    Node node;
    node.kind = Node::Kind::kScalar;
    node.text = text;
    node.env_text = env_text;
    return node;
  }

  static Node parse_null(Node node) {
    if (node.kind == Node::Kind::kScalar && !node.quoted && is_null_word(node.text)) node.kind = Node::Kind::kNull;
    return node;
  }

  /// Returns the absolute path of a reference `a.b[0].c`; each leading dot goes up one level from the referring value.
  Path absolute(std::string_view target, const Path& from) {
    size_t dots = 0;
    while (dots < target.size() && target[dots] == '.') ++dots;
    if (dots > from.size()) throw failure("{} goes above the top of the configuration", target);
    Path path(from.begin(), from.end() - static_cast<std::ptrdiff_t>(dots));
    if (dots == 0) path.clear();
    std::string part;
    const auto end_part = [&] {
      if (!part.empty()) path.push_back(std::exchange(part, ""));
    };
    for (const char c : target.substr(dots)) {
      if (c == '.' || c == '[' || c == ']')
        end_part();
      else
        part += c;
    }
    end_part();
    if (path.empty()) throw failure("an interpolation without a name");
    return path;
  }

  Node follow_reference(const std::string& target, const Path& from) {
    Path path = absolute(target, from);
    Node* node = &root_;
    Path walked;
    for (const std::string& part : path) {
      if (node->kind == Node::Kind::kScalar) resolve(*node, walked);
      Node* next = child(*node, part);
      if (!next) return missing(*node, part, target, walked);
      node = next;
      walked.push_back(part);
    }
    count_work(node->size());
    resolve(*node, walked);
    node->is_referred_to = true;
    if (!node->error.empty()) throw failure("{} (through ${{{}}})", node->error, target);
    return *node;
  }

  Failure cycle(size_t start) const {
    std::string chain;
    for (size_t i = start; i < active_.size(); ++i) chain += active_[i].path + " -> ";
    return failure("refers to itself: {}{}; give one of these keys a value", chain, active_[start].path);
  }

  static Node* child(Node& node, const std::string& name) {
    if (node.kind != Node::Kind::kList) return node.find(name);
    const auto index = parse_whole(name);
    return index && *index >= 0 && static_cast<size_t>(*index) < node.list.size() ? &node.list[*index] : nullptr;
  }

  Node missing(const Node& parent, const std::string& part, const std::string& target, const Path& walked) {
    if (walked.empty() && comes_from_hydra(part)) {
      const bool is_third_stage = part.starts_with("deepspeed_zero3");
      notes_.push_back(fmt::format(
          "${{{}}} should come from a file of Hydra's defaults list, but that file is missing: treated as {}", target,
          is_third_stage ? "reshard_after_forward: true, ZeRO-3" : "empty"));
      return is_third_stage ? parse_yaml("reshard_after_forward: true\n", target) : parse_yaml("{}\n", target);
    }
    std::vector<std::string> keys;
    for (const MapEntry& entry : parent.map) keys.push_back(entry.key);
    const std::string near = did_you_mean(part, keys);
    throw failure("there is no key {}{}", target, near.empty() ? "; correct the name, or add the key" : near);
  }

  bool comes_from_hydra(const std::string& name) const {
    const Node* defaults = root_.find("defaults");
    if (!defaults) return false;
    return std::any_of(defaults->list.begin(), defaults->list.end(),
                       [&](const Node& item) { return item.text.find(name) != std::string::npos; });
  }

  void count_work(size_t work) {
    work_ += work;
    if (work_ > kMaxWork)
      throw user_error("{}: the interpolations expand without limit; this is not a configuration",
                       root_.place.origin ? *root_.place.origin : "");
  }

  Node& root_;
  std::vector<std::string>& notes_;
  std::vector<Active> active_;
  size_t work_ = 0;
};

}  // namespace

std::string escaped_interpolations(const std::string& text) {
  std::string escaped;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "${") == 0) escaped += '\\';
    escaped += text[i];
  }
  return escaped;
}

void interpolate(Node& root, std::vector<std::string>& notes) {
  Path path;
  Interpolator(root, notes).resolve(root, path);
}

}  // namespace roll
