// The part of a response that answers, behind the thinking.
#pragma once

#include <algorithm>
#include <string_view>

namespace roll {

/// What follows the last `mark`; the whole text where there is none.
inline std::string_view behind_last(std::string_view text, std::string_view mark) {
  const size_t at = text.rfind(mark);
  return at == std::string_view::npos ? text : text.substr(at + mark.size());
}

constexpr std::string_view kThoughtEnd = "</think>";

/// What follows the last </think>, without the newlines at its beginning; the whole response where there is none.
inline std::string_view after_thinking(std::string_view response) {
  const std::string_view answer = behind_last(response, kThoughtEnd);
  if (answer.size() == response.size()) return response;
  return answer.substr(std::min(answer.size(), answer.find_first_not_of('\n')));
}

}  // namespace roll
