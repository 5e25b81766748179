#include "data/spoken_turns.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/trim.h"

namespace roll {

namespace {

/// Bytes of the header with which `turn` begins; empty: it has another one. Tags may be missing at its end.
std::optional<size_t> header_length(std::string_view turn, std::string_view header) {
  const auto length = static_cast<size_t>(std::ranges::mismatch(turn, header).in2 - header.begin());
  const std::string_view missing = trimmed_text(header.substr(length));
  const bool is_header = header.empty() || length > 0;
  if (!is_header || !(missing.empty() || missing.starts_with('<') || missing.starts_with('['))) return std::nullopt;
  return length;
}

}  // namespace

std::optional<std::vector<Span>> spoken_turns(const jinja::Rendering& whole, const Json& messages,
                                              const std::string& prompt) {
  const auto& last = whole.rounds.back();
  if (!last || !whole.text.starts_with(prompt) || prompt.size() < last->begin) return std::nullopt;
  const std::string_view text = whole.text;
  const std::string_view header = text.substr(last->begin, prompt.size() - last->begin);
  std::vector<Span> spoken;
  for (size_t i = 0; i + 1 < messages.size(); ++i) {
    if (messages[i]["role"] != "assistant") continue;
    const auto& round = whole.rounds[i];
    if (!round) return std::nullopt;
    const auto length = header_length(text.substr(round->begin, round->end - round->begin), header);
    if (!length) return std::nullopt;
    spoken.push_back({round->begin + *length, round->end});
  }
  spoken.push_back({prompt.size(), text.size()});
  return spoken;
}

}  // namespace roll
