#include "config/reader.h"

#include <cmath>

namespace roll {

std::string whole_number_advice(const Node& node) {
  const auto number = node.quoted ? std::nullopt : parse_number(node.text);
  if (!number || !(std::abs(*number) < 1e15) || *number != std::floor(*number)) return "";
  return fmt::format("; write {}", static_cast<int64_t>(*number));
}

const Node* StructReader::use(const char* key) {
  known_.push_back(key);
  for (size_t i = 0; i < node_.map.size(); ++i) {
    const MapEntry& entry = node_.map[i];
    if (entry.key != key) continue;
    used_[i] = true;
    const std::string path = prefix_ + key;
    context_.set[path] = {entry.value.place, shown_value(path, entry.value)};
    context_.from_env.add(path, entry.value);
    if (entry.value.error.empty()) return &entry.value;
    context_.complain(entry.value, path, entry.value.error);
  }
  return nullptr;
}

void StructReader::bool_or_text(const char* key, std::string& member, const char*) {
  const Node* value = use(key);
  if (!value) return;
  read_value(context_, *value, prefix_ + key, member);
  if (const auto boolean = scalar_as<bool>(*value)) member = *boolean ? "true" : "false";
}

void StructReader::noted(KeyList keys, const char* reason) {
  for (const char* pattern : keys) {
    known_.push_back(pattern);
    for (size_t i = 0; i < node_.map.size(); ++i) {
      const MapEntry& entry = node_.map[i];
      if (used_[i] || !matches(entry.key, pattern)) continue;
      used_[i] = true;
      if (entry.value.place.is_command_line() && !entry.value.is_referred_to)  // who types a key wants something of it
        context_.complain(entry.value, prefix_ + entry.key, fmt::format("has no effect: {}; leave it out", reason));
      else
        context_.noted.add(prefix_ + entry.key, reason);
    }
  }
}

void StructReader::refuse(KeyList keys, const char* reason, bool or_one) {
  for (const char* pattern : keys) {
    known_.push_back(pattern);
    for (size_t i = 0; i < node_.map.size(); ++i) {
      const MapEntry& entry = node_.map[i];
      if (used_[i] || !matches(entry.key, pattern)) continue;
      used_[i] = true;
      if (!wishes_nothing(entry.value, or_one)) context_.complain(entry.value, prefix_ + entry.key, reason);
    }
  }
}

void StructReader::finish() {
  for (size_t i = 0; i < node_.map.size(); ++i)
    if (!used_[i]) context_.complain_unknown(node_.map[i], prefix_, known_);
}

}  // namespace roll
