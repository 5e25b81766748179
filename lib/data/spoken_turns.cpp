#include "data/spoken_turns.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace roll {

namespace {

/// Bytes of the header with which `turn` begins, of whose tags the last may be missing; empty: it has another header.
std::optional<size_t> header_length(std::string_view turn, std::string_view header) {
  const auto alike = static_cast<size_t>(std::ranges::mismatch(turn, header).in2 - header.begin());
  const size_t length = alike == header.size() ? alike : header.substr(0, alike + 1).find_last_of("<[");
  const bool has_header = length != std::string_view::npos && (length > 0 || header.empty());
  return has_header ? std::optional(length) : std::nullopt;
}

}  // namespace

std::optional<std::vector<Span>> spoken_turns(const jinja::Rendering& whole, const Json& messages, size_t last_begin) {
  const auto& last = whole.rounds.back();
  if (!last || last_begin < last->begin || last_begin >= whole.text.size()) return std::nullopt;
  const std::string_view text = whole.text;
  const std::string_view header = text.substr(last->begin, last_begin - last->begin);
  std::vector<Span> spoken;
  for (size_t i = 0; i + 1 < messages.size(); ++i) {
    if (messages[i]["role"] != "assistant") continue;
    const auto& round = whole.rounds[i];
    if (!round) return std::nullopt;
    const auto length = header_length(text.substr(round->begin, round->end - round->begin), header);
    if (!length) return std::nullopt;
    spoken.push_back({round->begin + *length, round->end});
  }
  spoken.push_back({last_begin, text.size()});
  return spoken;
}

}  // namespace roll
