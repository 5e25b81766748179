// The part of a response that answers, behind the thinking.
#pragma once

#include <algorithm>
#include <string_view>

namespace roll {

/// What follows the last </think>, without the newlines at its beginning; the whole response where there is none.
inline std::string_view after_thinking(std::string_view response) {
  constexpr std::string_view kEnd = "</think>";
  const size_t at = response.rfind(kEnd);
  if (at == std::string_view::npos) return response;
  const std::string_view answer = response.substr(at + kEnd.size());
  return answer.substr(std::min(answer.size(), answer.find_first_not_of('\n')));
}

}  // namespace roll
