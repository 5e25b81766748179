#include "report/warnings.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

namespace roll {

namespace {

constexpr std::string_view kMark = "warning: ";

/// Returns the text after "2026-11-28T18:12:01Z [rank 3] warning: "; time and rank may be absent (base/log.h).
std::optional<std::string_view> warning_in(std::string_view line) {
  constexpr size_t kStamp = 21;
  if (line.size() > kStamp && line[10] == 'T' && line[kStamp - 2] == 'Z') line.remove_prefix(kStamp);
  if (line.starts_with("[rank ") && line.find("] ") != line.npos) line.remove_prefix(line.find("] ") + 2);
  if (!line.starts_with(kMark)) return std::nullopt;
  return line.substr(kMark.size());
}

std::string without_numbers(const std::string& text) {
  std::string shape;
  for (const char c : text) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit || !shape.ends_with('#')) shape += is_digit ? '#' : c;
  }
  return shape;
}

}  // namespace

std::vector<LoggedWarning> warnings_in(std::string_view log) {
  std::vector<std::string> texts;
  bool in_warning = false;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (const auto text = warning_in(line)) {
      texts.emplace_back(*text);
      in_warning = true;
    } else if (in_warning && line.starts_with(' ')) {
      texts.back() += '\n';
      texts.back() += line;
    } else {
      in_warning = false;
    }
  }
  std::vector<LoggedWarning> warnings;
  std::map<std::string, size_t> index_by_text;
  for (const std::string& text : texts) {
    const auto [entry, is_new] = index_by_text.try_emplace(without_numbers(text), warnings.size());
    if (is_new)
      warnings.push_back({.text = text, .last = "", .count = 1});
    else {
      warnings[entry->second].last = text;
      ++warnings[entry->second].count;
    }
  }
  return warnings;
}

}  // namespace roll
