#include "text/json_view.h"

#include <algorithm>

#include "base/error.h"

namespace roll {

namespace {

constexpr size_t kShownBytes = 60;

std::string shortened_json(const FileJson& value) {
  const std::string text = value.dump(-1, ' ', true, FileJson::error_handler_t::replace);
  return text.size() <= kShownBytes ? text : text.substr(0, kShownBytes) + "...";
}

}  // namespace

void JsonView::fail(std::string_view rule) const {
  throw user_error("{} = {}: {}", where(), shortened_json(*value_), rule);
}

JsonView JsonView::at(std::string_view key) const {
  if (auto member = get(key)) return *std::move(member);
  throw user_error("{}: needs '{}', which is missing; check that the file is complete", where(), key);
}

std::optional<JsonView> JsonView::get(std::string_view key) const {
  object();
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return {};
  return JsonView(*member, origin_, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

JsonView JsonView::at(size_t index) const {
  array();
  ROLL_CHECK(index < value_->size(), "the caller counts");
  return {(*value_)[index], origin_, fmt::format("{}[{}]", path_, index)};
}

const JsonView& JsonView::object() const {
  if (!value_->is_object()) fail("must be a JSON object");
  return *this;
}

const JsonView& JsonView::array() const {
  if (!value_->is_array()) fail("must be a JSON array");
  return *this;
}

const std::string& JsonView::string() const {
  if (!value_->is_string()) fail("must be a string");
  return value_->get_ref<const std::string&>();
}

bool JsonView::boolean() const {
  if (!value_->is_boolean()) fail("must be true or false");
  return value_->get<bool>();
}

bool is_token_id(const FileJson& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{kMaxTokenId};
}

int64_t JsonView::id() const {
  if (!is_token_id(*value_)) fail(fmt::format("must be a token id: an integer of 0 to {}", kMaxTokenId));
  return value_->get<int64_t>();
}

bool JsonView::boolean_or(std::string_view key, bool fallback) const {
  const auto member = get(key);
  return member ? member->boolean() : fallback;
}

void JsonView::only(std::string_view key, std::initializer_list<FileJson> allowed, std::string_view remedy) const {
  const auto member = get(key);
  if (member && std::ranges::find(allowed, member->value()) == allowed.end()) member->fail(remedy);
}

}  // namespace roll
