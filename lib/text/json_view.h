// Typed access to a model folder's JSON with located errors: "tokenizer.json: model.merges[3]: must be ...; ...".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace roll {

/// Largest accepted token id; tables grow with it.
constexpr int64_t kMaxTokenId = (1 << 22) - 1;

/// Returns true if `value` is an integer in [0, kMaxTokenId].
bool is_token_id(const FileJson& value);

/// A value and its path. Does not own the value.
class JsonView {
 public:
  JsonView(const FileJson& value, std::string origin, std::string path = "")
      : value_(&value), origin_(std::move(origin)), path_(std::move(path)) {}

  const FileJson& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }
  size_t size() const { return value_->size(); }

  /// Returns "file: path", which starts every message about this value.
  std::string where() const { return path_.empty() ? origin_ : origin_ + ": " + path_; }

  /// Throws UserError "file: path = value: rule".
  [[noreturn]] void fail(std::string_view rule) const;

  /// Returns a member of this object. `at`: UserError if it is missing. `get`: nullopt if it is missing or null.
  JsonView at(std::string_view key) const;
  std::optional<JsonView> get(std::string_view key) const;

  /// Returns an element of this array.
  JsonView at(size_t index) const;

  /// UserError: the value does not have this type.
  const JsonView& object() const;
  const JsonView& array() const;
  const std::string& string() const;
  bool boolean() const;
  int64_t id() const;  // a token id: an integer in [0, kMaxTokenId]

  bool boolean_or(std::string_view key, bool fallback) const;

  /// UserError: the member exists, is not null, and is not one of the `allowed` values.
  void only(std::string_view key, std::initializer_list<FileJson> allowed, std::string_view remedy) const;

 private:
  const FileJson* value_;
  std::string origin_, path_;
};

}  // namespace roll
