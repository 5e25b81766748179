#include "collect/text_difference.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace roll {

namespace {

constexpr size_t kExcerptLength = 40;

std::string difference_excerpt(const std::string& text, size_t from) {
  return from >= text.size() ? "the end" : to_line(Json(text.substr(from, kExcerptLength)));
}

}  // namespace

TextDifference first_difference(const std::string& before, const std::string& after) {
  const auto at = static_cast<size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
  return {at, difference_excerpt(before, at), difference_excerpt(after, at)};
}

}  // namespace roll
