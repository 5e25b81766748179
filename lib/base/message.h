// Encodes and decodes messages between ranks: encode_message() and decode_message(). A message is a struct with a
// MessageKind and one list of its fields, so that writing and reading cannot differ:
//
//   struct Lengths {
//     static constexpr MessageKind kMessage{"LONG", 1, "lengths of responses"};
//     std::vector<Length> lengths;
//     template <class F>
//     void fields(F& field) { field("lengths", lengths); }   // Length has fields() too, and no kMessage
//   };
//
// Bytes: the tag's four letters, the version in four bytes, then the fields in order, without gaps. Numbers are
// little-endian in the width of their type, floating-point ones as their bits. Texts, lists and maps follow their
// number of bytes or entries (4 bytes); an optional is a byte 0 or 1 and the value, if any. Json is sent as text, for
// data without a fixed shape. An enum field needs a function is_known(value) that returns true for its valid values.
// Nothing depends on host, device or compiler.
//
// Errors name message, sender, field and byte. Decoding throws UserError if the tag or version differs, since the ranks
// then run different builds. It throws SystemError if bytes are missing, left over, or invalid for their type. No list
// is allocated before it is clear that the bytes suffice for its entries.
#pragma once

#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"

namespace roll {

/// Identifies a type of message.
struct MessageKind {
  char tag[5];       // four letters, unique to this message
  uint32_t version;  // incremented with every change of the fields
  const char* name;  // for error texts: "lengths of responses"
};

/// The sender of a message, for error texts.
struct Sender {
  int rank = -1;                     // rank within the group; -1 if unknown
  std::string_view group = "world";  // name of the communicator; "world": all ranks
};

// Kinds of fields that MessageWriter and MessageReader support: numbers, bools, enums, strings, Json, vectors,
// optionals, maps, and structs with fields().
template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
inline constexpr bool kIsMap = false;
template <class K, class V>
inline constexpr bool kIsMap<std::map<K, V>> = true;
template <class T>
inline constexpr bool kIsNumber = std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && sizeof(T) <= 8;

/// Encodes a message's fields to bytes; used by encode_message(). fields() calls operator() for each field.
class MessageWriter {
 public:
  template <class T>
  void operator()(const char* /*name*/, const T& value) {
    write(value);
  }
  template <class T>
  void write(const T& value);
  /// Returns the bytes written so far; call it once, at the end.
  std::string take() { return std::move(bytes_); }

 private:
  void write_count(size_t count);
  void append(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  std::string bytes_;
};

/// Returns the smallest number of bytes that an encoded value of type T can have.
template <class T>
size_t least_bytes();

/// Decodes a message's fields from bytes; used by decode_message(). fields() calls operator() for each field.
class MessageReader {
 public:
  /// Reads the tag and the version. `bytes` must outlive the reader. Throws UserError if they differ from those of
  /// `kind`.
  MessageReader(std::string_view bytes, const MessageKind& kind, const Sender& sender);

  template <class T>
  void operator()(const char* name, T& value) {
    path_.push_back({name});
    read(value);
    path_.pop_back();
  }
  template <class T>
  void read(T& value);
  /// Checks that all bytes were read. Throws SystemError if bytes are left over.
  void expect_end() const;

 private:
  struct Step {
    const char* name;
    int64_t index = -1;  // index in a list; -1: not a list
  };
  /// These two throw SystemError or UserError about the current field.
  [[noreturn]] void refuse(const std::string& problem) const;
  [[noreturn]] void refuse_build(const std::string& problem) const;
  void copy(void* data, size_t size);
  /// Reads the number of entries that follow; each takes at least `min_entry_bytes`.
  size_t read_count(size_t min_entry_bytes);
  bool read_flag();
  void read_text(std::string& text);
  void read_json(Json& json);

  std::string_view bytes_;
  size_t at_ = 0;
  MessageKind kind_;
  Sender sender_;
  std::vector<Step> path_;
};

/// Returns the bytes of a message: tag, version and fields. M: a struct with kMessage and fields().
template <class M>
std::string encode_message(const M& message) {
  MessageWriter writer;
  for (int i = 0; i < 4; ++i) writer.write(M::kMessage.tag[i]);
  writer.write(M::kMessage.version);
  writer.write(message);
  return writer.take();
}

/// Returns the message whose encode_message() is `bytes`. M must have a default constructor. Errors name `sender`.
/// Throws UserError if tag or version differ, and SystemError if the bytes are damaged, as described at the top.
template <class M>
M decode_message(std::string_view bytes, const Sender& sender = {}) {
  MessageReader reader(bytes, M::kMessage, sender);
  M message;
  reader.read(message);
  reader.expect_end();
  return message;
}

template <class T>
void MessageWriter::write(const T& value) {
  static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");
  if constexpr (kIsNumber<T> || std::is_same_v<T, bool>) {
    append(&value, sizeof value);
  } else if constexpr (std::is_enum_v<T>) {
    write(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_same_v<T, std::string>) {
    write_count(value.size());
    append(value.data(), value.size());
  } else if constexpr (std::is_same_v<T, Json>) {
    write(to_line(value));
  } else if constexpr (kIsOptional<T>) {
    write(value.has_value());
    if (value) write(*value);
  } else if constexpr (kIsMap<T>) {
    write_count(value.size());
    for (const auto& [key, mapped_value] : value) {
      write(key);
      write(mapped_value);
    }
  } else if constexpr (kIsList<T>) {
    write_count(value.size());
    if constexpr (kIsNumber<typename T::value_type>)
      append(value.data(), value.size() * sizeof(typename T::value_type));
    else
      for (const auto& entry : value) write(entry);
  } else {
    const_cast<T&>(value).fields(*this);  // one list for both directions; writing only reads
  }
}

namespace message_detail {

struct LeastBytes {
  size_t total = 0;
  template <class T>
  void operator()(const char* /*name*/, const T& /*value*/) {
    total += least_bytes<T>();
  }
};

}  // namespace message_detail

template <class T>
size_t least_bytes() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return sizeof(T);
  } else if constexpr (kIsOptional<T>) {
    return 1;
  } else if constexpr (kIsMap<T> || kIsList<T> || std::is_same_v<T, std::string> || std::is_same_v<T, Json>) {
    return sizeof(uint32_t);
  } else {
    message_detail::LeastBytes min_entry_bytes;
    T().fields(min_entry_bytes);
    return min_entry_bytes.total;
  }
}

template <class T>
void MessageReader::read(T& value) {
  if constexpr (kIsNumber<T>) {
    copy(&value, sizeof value);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = read_flag();
  } else if constexpr (std::is_enum_v<T>) {
    std::underlying_type_t<T> number{};
    read(number);
    value = static_cast<T>(number);
    if (!is_known(value)) refuse("is " + std::to_string(number) + ", which is no known value");
  } else if constexpr (std::is_same_v<T, std::string>) {
    read_text(value);
  } else if constexpr (std::is_same_v<T, Json>) {
    read_json(value);
  } else if constexpr (kIsOptional<T>) {
    value.reset();
    if (read_flag()) read(value.emplace());
  } else if constexpr (kIsMap<T>) {
    value.clear();
    for (size_t left = read_count(least_bytes<typename T::key_type>() + least_bytes<typename T::mapped_type>());
         left > 0; --left) {
      typename T::key_type key{};
      read(key);
      if (!value.empty() && !(value.rbegin()->first < key)) refuse("has keys out of order");
      read(value.emplace_hint(value.end(), std::move(key), typename T::mapped_type{})->second);
    }
  } else if constexpr (kIsList<T>) {
    using Entry = typename T::value_type;
    static_assert(!std::is_same_v<Entry, bool>, "std::vector<bool> holds no bools");
    value.resize(read_count(least_bytes<Entry>()));
    if constexpr (kIsNumber<Entry>)
      copy(value.data(), value.size() * sizeof(Entry));
    else
      for (size_t i = 0; i < value.size(); ++i) {
        path_.back().index = static_cast<int64_t>(i);
        read(value[i]);
      }
  } else {
    value.fields(*this);
  }
}

}  // namespace roll
