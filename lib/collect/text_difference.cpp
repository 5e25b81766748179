#include "collect/text_difference.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace roll {

namespace {

constexpr size_t kShown = 40;

std::string shown(const std::string& text, size_t from) {
  return from >= text.size() ? "its end" : to_line(Json(text.substr(from, kShown)));
}

}  // namespace

TextDifference first_difference(const std::string& before, const std::string& after) {
  const auto at = static_cast<size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
  return {at, shown(before, at), shown(after, at)};
}

}  // namespace roll
