// Files of tests/golden/reward that people judged by hand: lines "what is right <TAB> texts", and lines of # that say
// what follows.
#pragma once

#include <fstream>
#include <functional>
#include <string>

namespace roll {

/// `text` with "\n" as new lines, but where LaTeX has it ("\ne").
inline std::string with_new_lines(std::string text) {
  for (size_t at = text.find("\\n"); at != std::string::npos; at = text.find("\\n", at + 1))
    if (at + 2 == text.size() || text[at + 2] < 'a' || text[at + 2] > 'z') text.replace(at, 2, "\n");
  return text;
}

/// Calls line(head, rest) with what stands before and behind the first tab; ("#", comment) for comments. How many lines
/// are judged.
inline int each_judged(const std::string& name,
                       const std::function<void(const std::string& head, const std::string& rest)>& line) {
  std::ifstream in(ROLL_SOURCE_DIR "/tests/golden/reward/" + name);
  int judged = 0;
  for (std::string text; std::getline(in, text);) {
    const size_t tab = text.find('\t');
    if (text.starts_with('#'))
      line("#", text.substr(1));
    else if (tab != std::string::npos)
      line(text.substr(0, tab), text.substr(tab + 1)), ++judged;
  }
  return judged;
}

}  // namespace roll
