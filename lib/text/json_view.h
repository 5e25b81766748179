// Typed access to a model folder's JSON files, for the readers of lib/text. Errors name file and path: "tokenizer.json:
// model.merges[3] = ...: ...".
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

/// A JSON value and its path in a file. Does not own the value, which must outlive it. at(), get() and the typed
/// accessors throw UserError if the value has another JSON type.
class JsonView {
 public:
  /// `origin`: the file's name in messages; `path`: "model.merges", or "" for the file's whole content.
  JsonView(const FileJson& value, std::string origin, std::string path = "")
      : value_(&value), origin_(std::move(origin)), path_(std::move(path)) {}

  const FileJson& value() const { return *value_; }
  bool is_null() const { return value_->is_null(); }
  size_t size() const { return value_->size(); }

  /// Returns "file: path", which starts every message about this value.
  std::string where() const { return path_.empty() ? origin_ : origin_ + ": " + path_; }

  /// Throws UserError "file: path = value: rule".
  [[noreturn]] void fail(std::string_view rule) const;

  /// Returns a member of this object; throws UserError if it is missing or null.
  JsonView at(std::string_view key) const;
  /// Returns a member of this object; nullopt if it is missing or null.
  std::optional<JsonView> get(std::string_view key) const;

  /// Returns an element of this array; throws Bug if it has fewer elements.
  JsonView at(size_t index) const;

  /// Return the value as one type. object() and array() return this view.
  const JsonView& object() const;
  const JsonView& array() const;
  const std::string& string() const;
  bool boolean() const;
  int64_t id() const;  // a token id: an integer in [0, kMaxTokenId]

  /// Returns a boolean member of this object; `fallback` if it is missing or null.
  bool boolean_or(std::string_view key, bool fallback) const;

  /// Throws UserError "file: path = value: remedy" if the member is present, not null, and not one of `allowed`.
  void only(std::string_view key, std::initializer_list<FileJson> allowed, std::string_view remedy) const;

 private:
  const FileJson* value_;
  std::string origin_, path_;
};

}  // namespace roll
