#include "track/protobuf.h"

#include <bit>

namespace roll::protobuf {

namespace {

static_assert(std::endian::native == std::endian::little, "protobuf stores little-endian numbers");

enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>(value | 0x80);
  return text + static_cast<char>(value);
}

std::string key(uint32_t field, Wire wire) {
  return varint(uint64_t{field} << 3 | wire);
}

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// Removes a varint from the front; nullopt if it is malformed.
std::optional<uint64_t> take_varint(std::string_view& text) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !text.empty(); shift += 7) {
    const char byte = text.front();
    text.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7F) << shift;
    if (!(byte & 0x80)) return value;
  }
  return std::nullopt;
}

struct Field {
  uint32_t number = 0;
  Wire wire = kVarint;
  uint64_t value = 0;        // kVarint
  std::string_view bytes{};  // other wire types
};

std::optional<Field> take_field(std::string_view& text) {
  const auto head = take_varint(text);
  if (!head) return std::nullopt;
  Field field{.number = static_cast<uint32_t>(*head >> 3), .wire = static_cast<Wire>(*head & 7)};
  std::optional<uint64_t> size;
  if (field.wire == kVarint || field.wire == kBytes) size = take_varint(text);
  if (field.wire == kFixed64) size = 8;
  if (field.wire == kFixed32) size = 4;
  if (!size) return std::nullopt;
  if (field.wire == kVarint) return field.value = *size, field;
  if (*size > text.size()) return std::nullopt;
  field.bytes = text.substr(0, *size);
  text.remove_prefix(*size);
  return field;
}

std::optional<Field> find(std::string_view message, uint32_t number, Wire wire) {
  while (const auto field = take_field(message))
    if (field->number == number && field->wire == wire) return field;
  return std::nullopt;
}

}  // namespace

std::string whole(uint32_t field, uint64_t value) {
  return key(field, kVarint) + varint(value);
}

std::string number(uint32_t field, double value) {
  return key(field, kFixed64) + raw(value);
}

std::string number(uint32_t field, float value) {
  return key(field, kFixed32) + raw(value);
}

std::string bytes(uint32_t field, std::string_view value) {
  return key(field, kBytes) + varint(value.size()) + std::string(value);
}

std::optional<uint64_t> find_whole(std::string_view message, uint32_t field) {
  const auto found = find(message, field, kVarint);
  return found ? std::optional(found->value) : std::nullopt;
}

std::optional<std::string_view> find_bytes(std::string_view message, uint32_t field) {
  const auto found = find(message, field, kBytes);
  return found ? std::optional(found->bytes) : std::nullopt;
}

}  // namespace roll::protobuf
