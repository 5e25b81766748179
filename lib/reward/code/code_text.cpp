#include "reward/code/code_text.h"

#include <map>

#include "reward/text_measures.h"

namespace roll {

namespace {

constexpr size_t kLongestUnfenced = 4000;
constexpr std::string_view kFence = "```", kBlank = " \t\r\n";

std::string find_language_name(std::string_view mark) {
  static const std::map<std::string, std::string, std::less<>> aliases = {
      {"python3", "python"}, {"py", "python"}, {"c++", "cpp"}, {"Python", "python"}, {"C++", "cpp"}};
  const auto found = aliases.find(mark);
  return found == aliases.end() ? std::string(mark) : found->second;
}

/// Returns the block without blank lines at both ends; the first line keeps its indentation.
std::string strip_block(std::string_view block) {
  while (!block.empty()) {
    const size_t line = block.find('\n');
    if (line == std::string_view::npos || !stripped(block.substr(0, line)).empty()) break;
    block.remove_prefix(line + 1);
  }
  const size_t last = block.find_last_not_of(kBlank);
  return std::string(block.substr(0, last == std::string_view::npos ? 0 : last + 1)) + "\n";
}

}  // namespace

std::string answer_part(std::string_view response) {
  return stripped(behind_last(behind_last(response, "<|begin_of_solution|>"), kThoughtEnd));
}

std::optional<CodeBlock> last_code_block(std::string_view response, const std::set<std::string>& languages) {
  const std::string answer = answer_part(response);
  const std::string_view text = answer;
  if (text.find(kFence) == std::string_view::npos) {
    if (text.empty() || text.size() > kLongestUnfenced) return std::nullopt;
    return CodeBlock{"python", strip_block(text)};
  }
  std::optional<CodeBlock> marked, plain;
  for (size_t at = text.find(kFence); at != std::string_view::npos;) {
    const size_t begin = at + kFence.size(), end = text.find(kFence, begin);
    if (end == std::string_view::npos) break;
    const std::string_view block = text.substr(begin, end - begin);
    const size_t mark_end = std::min(block.find_first_of(kBlank), block.size());
    const std::string language = find_language_name(block.substr(0, mark_end));
    if (language.empty())
      plain = CodeBlock{"python", strip_block(block)};
    else if (languages.contains(language))
      marked = CodeBlock{language, strip_block(block.substr(mark_end))};
    at = text.find(kFence, end + kFence.size());
  }
  return marked ? marked : plain;
}

}  // namespace roll
