// Finds the program in a response (code_sandbox.h).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace roll {

struct CodeBlock {
  std::string language, code;
};

/// Returns the text after the last <|begin_of_solution|> and the last </think>, stripped.
std::string answer_part(std::string_view response);

/// Returns the last ``` block of the answer part marked with one of `languages` (python3 and py mean python, c++ means
/// cpp). If there is none, returns the last unmarked block, as Python. A text without any fence is taken as a whole, if
/// it has at most 4000 bytes. An unclosed block is ignored.
std::optional<CodeBlock> last_code_block(std::string_view response, const std::set<std::string>& languages);

}  // namespace roll
