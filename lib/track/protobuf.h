// Encodes and finds Protocol Buffers fields, for the files of TensorBoard and W&B. Written by hand, so that we need
// neither protoc nor libprotobuf. `field` is a field number; messages are made by appending encoded fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roll::protobuf {

/// Returns an encoded field of type int32, int64, uint64 or bool.
std::string whole(uint32_t field, uint64_t value);
/// Returns an encoded double field.
std::string number(uint32_t field, double value);
/// Returns an encoded float field.
std::string number(uint32_t field, float value);
/// Returns an encoded field of type string, bytes or message.
std::string bytes(uint32_t field, std::string_view value);

/// Return the first field of this number and type; nullopt if there is none before the end or a malformed field. The
/// view points into `message`.
std::optional<uint64_t> find_whole(std::string_view message, uint32_t field);
std::optional<std::string_view> find_bytes(std::string_view message, uint32_t field);

}  // namespace roll::protobuf
