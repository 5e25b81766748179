#include "convert/foreign.h"

#include <algorithm>

#include "base/error.h"
#include "config/yaml.h"

namespace roll {

namespace {

void flatten(const Node& node, const std::string& path, std::vector<ForeignKey>& keys) {
  if (node.kind != Node::Kind::kMap) {
    const bool is_scalar = node.kind == Node::Kind::kScalar || node.kind == Node::Kind::kNull;
    keys.push_back({path, is_scalar ? node.text : flow_text(node), node.place.text(), ""});
    return;
  }
  for (const MapEntry& entry : node.map) flatten(entry.value, path.empty() ? entry.key : path + "." + entry.key, keys);
}

bool is_flag(const std::string& word) {
  return word.size() > 2 && word.starts_with("--") && std::isalpha(static_cast<unsigned char>(word[2]));
}

/// Returns true for "a.b=c", also with Hydra's + or ++ in front.
bool is_override(const std::string& text) {
  const size_t equals = text.find('=');
  const size_t begin = text.find_first_not_of('+');
  if (equals == std::string::npos || begin == std::string::npos || begin >= equals) return false;
  const std::string key = text.substr(begin, equals - begin);
  return key.find('.') != std::string::npos && std::isalpha(static_cast<unsigned char>(key[0])) &&
         key.find_first_of("/:$-") == std::string::npos;
}

}  // namespace

std::vector<ForeignKey> read_yaml_keys(std::string_view text, const std::string& origin) {
  const Node tree = parse_yaml(text, origin);
  if (tree.kind != Node::Kind::kMap)
    throw user_error("{}: {} where a mapping of keys is expected", origin, describe(tree));
  std::vector<ForeignKey> keys;
  flatten(tree, "", keys);
  return keys;
}

std::vector<ForeignKey> read_argument_keys(const std::vector<ArgumentWord>& words) {
  std::vector<ForeignKey> keys;
  bool takes_values = false;  // the last flag had no '=', so values may follow
  for (const ArgumentWord& word : words) {
    const size_t equals = word.text.find('=');
    if (is_flag(word.text)) {
      takes_values = equals == std::string::npos;
      keys.push_back({word.text.substr(2, takes_values ? std::string::npos : equals - 2),
                      takes_values ? "true" : word.text.substr(equals + 1), word.place, word.unknown});
    } else if (is_override(word.text)) {
      const size_t begin = word.text.find_first_not_of('+');
      keys.push_back({word.text.substr(begin, equals - begin), word.text.substr(equals + 1), word.place, word.unknown});
      takes_values = false;
    } else if (takes_values) {
      ForeignKey& last = keys.back();
      if (last.value == "true")
        last.value = word.text;
      else
        last.value.append(" ").append(word.text);
      if (last.unknown.empty()) last.unknown = word.unknown;
    } else if (!word.unknown.empty()) {
      throw user_error("{}: this argument may be any key, and depends on {}; write it out", word.place, word.unknown);
    }
  }
  return keys;
}

}  // namespace roll
