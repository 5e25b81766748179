// Reading a model folder's JSON with errors that say where: "tokenizer.json: model.merges[3]: must be ...; ...".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Larger ids are refused: tables are as long as the largest id.
constexpr int64_t kMaxTokenId = (1 << 22) - 1;

/// Whether `value` is an integer in [0, kMaxTokenId].
bool is_token_id(const FileJson& value);

/// A value and how it was reached. Does not own the value.
class JsonView {
 public:
  JsonView(const FileJson& value, std::string origin, std::string path = "")
      : value_(&value), origin_(std::move(origin)), path_(std::move(path)) {}

  const FileJson& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }
  size_t size() const { return value_->size(); }

  /// "file: path", which opens every message about this value.
  std::string where() const { return path_.empty() ? origin_ : origin_ + ": " + path_; }

  /// Throws UserError "file: path = value: rule".
  [[noreturn]] void fail(std::string_view rule) const;

  /// A member of this object. `at`: UserError when it is missing. `get`: empty when missing or null.
  JsonView at(std::string_view key) const;
  std::optional<JsonView> get(std::string_view key) const;

  /// An element of this array.
  JsonView at(size_t index) const;

  /// UserError unless the value has that type.
  const JsonView& object() const;
  const JsonView& array() const;
  const std::string& string() const;
  bool boolean() const;
  int64_t id() const;  // a token id: an integer in [0, kMaxTokenId]

  bool boolean_or(std::string_view key, bool otherwise) const;

  /// UserError when the member is there, not null, and not one of `allowed` values.
  void only(std::string_view key, std::initializer_list<FileJson> allowed, std::string_view what_to_do) const;

 private:
  const FileJson* value_;
  std::string origin_, path_;
};

}  // namespace roll
