#include "track/sample.h"

#include <fmt/format.h>

#include "base/harmless.h"
#include "base/terminal.h"
#include "base/utf8.h"

namespace roll {

namespace {

/// Returns the longest suffix of `text` that is at most `columns` wide.
std::string suffix_of_width(const std::string& text, int columns) {
  size_t begin = 0;
  while (begin < text.size() && display_width(std::string_view(text).substr(begin)) > columns) {
    begin = next_character(text, begin + 1);
  }
  return text.substr(begin);
}

/// Shortens long texts before the slower work per character; a character has at most 4 bytes.
std::string both_ends(const std::string& text, int columns) {
  const auto max_bytes = static_cast<size_t>(8 * columns);
  return text.size() <= 2 * max_bytes ? text : text.substr(0, max_bytes) + text.substr(text.size() - max_bytes);
}

}  // namespace

std::string shortened(const std::string& text, int columns) {
  const std::string line = on_one_line(both_ends(text, columns));
  if (display_width(line) <= columns) return line;
  const int head = columns / 2;
  return cut_to_width(line, head) + " " + suffix_of_width(line, columns - head - 1);
}

std::vector<std::string> sample_lines(const ShownSample& sample, int columns) {
  constexpr int kMargin = 12;
  const auto line = [&](const char* name, const std::string& text) {
    return fmt::format("  {:<9} {}", name, shortened(text, columns - kMargin));
  };
  std::vector<std::string> lines = {line("prompt", sample.prompt), line("response", sample.response)};
  const std::string expected = sample.expected.empty() ? "" : "; expected " + sample.expected;
  lines.push_back(line("verdict", sample.verdict + expected));
  return lines;
}

}  // namespace roll
