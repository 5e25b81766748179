// Messages of Protocol Buffers, field by field: a dozen fields of a few messages, against a code generator and a
// library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roll::protobuf {

/// A field of type int32, int64, uint64, bool.
std::string whole(uint32_t field, uint64_t value);
/// double.
std::string number(uint32_t field, double value);
/// float.
std::string number(uint32_t field, float value);
/// string, bytes, or a message.
std::string bytes(uint32_t field, std::string_view value);

/// The first such field of a message; nullopt: there is none before the end, or before what is no field.
std::optional<uint64_t> find_whole(std::string_view message, uint32_t field);
std::optional<std::string_view> find_bytes(std::string_view message, uint32_t field);

}  // namespace roll::protobuf
