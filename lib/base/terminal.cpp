#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/env.h"
#include "base/harmless.h"
#include "base/utf8.h"

namespace roll {

namespace {

struct Block {
  char32_t first, last;
};

template <size_t N>
bool is_in(const Block (&blocks)[N], char32_t c) {
  return std::any_of(std::begin(blocks), std::end(blocks),
                     [c](Block block) { return block.first <= c && c <= block.last; });
}

// Unicode's East Asian wide and full-width blocks, and emoji.
constexpr Block kWide[] = {{0x1100, 0x115F},   {0x231A, 0x231B},  {0x2E80, 0x303E},   {0x3041, 0xA4CF},
                           {0xA960, 0xA97F},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                           {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF},
                           {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr Block kZeroWidth[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
                                {0x064B, 0x065F}, {0x093C, 0x093C}, {0x094D, 0x094D}, {0x1AB0, 0x1AFF},
                                {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                {0xFE20, 0xFE2F}};

int character_width(char32_t c) {
  return is_in(kZeroWidth, c) && !is_harmful(c) ? 0 : is_in(kWide, c) ? 2 : 1;
}

bool started_by_mpirun() {
  return env("OMPI_COMM_WORLD_RANK") || env("PMI_RANK") || env("PMIX_RANK");
}

}  // namespace

Terminal describe_terminal(int fd) {
  if (const auto columns = env_count("ROLL_TERMINAL"))
    return {*columns > 0, *columns > 0 ? static_cast<int>(*columns) : 80,
            static_cast<int>(env_count("ROLL_TERMINAL_ROWS").value_or(0))};
  if (started_by_mpirun() || !::isatty(fd) || env("TERM").value_or("dumb") == "dumb") return {};
  winsize size{};
  const bool known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {true, known ? size.ws_col : 80, known && ::isatty(STDERR_FILENO) ? size.ws_row : 0};
}

int display_width(std::string_view utf8) {
  int width = 0;
  for (size_t at = 0; at < utf8.size();) {
    const CodePoint c = first_code_point(utf8.substr(at));
    width += character_width(c.value);
    at += c.bytes;
  }
  return width;
}

std::string cut_to_width(std::string_view utf8, int columns) {
  if (columns <= 0) return {};
  if (display_width(utf8) <= columns) return std::string(utf8);
  size_t end = 0;
  for (int width = 0; end < utf8.size();) {
    const CodePoint c = first_code_point(utf8.substr(end));
    width += character_width(c.value);
    if (width > columns - 1) break;
    end += c.bytes;
  }
  return std::string(utf8.substr(0, end)) + "…";
}

std::vector<std::string> wrapped(std::string_view utf8, int columns, std::string_view indent) {
  std::vector<std::string> lines{""};
  bool is_empty = true;  // the last line is empty except for its indent
  while (!utf8.empty()) {
    // A word keeps the blanks before it: they may be an indentation, or align columns.
    const size_t begin = std::min(utf8.find_first_not_of(' '), utf8.size());
    const size_t end = std::min(utf8.find(' ', begin), utf8.size());
    if (!is_empty && display_width(lines.back()) + display_width(utf8.substr(0, end)) > columns) {
      lines.emplace_back(indent);
      lines.back() += utf8.substr(begin, end - begin);
    } else {
      lines.back() += utf8.substr(0, end);
    }
    is_empty = false;
    utf8.remove_prefix(end);
  }
  return lines;
}

}  // namespace roll
