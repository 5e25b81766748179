// Finds the program in a response, for the reward type code_sandbox (code_sandbox.h).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace roll {

/// A program found in a response.
struct CodeBlock {
  std::string language;  // "python", "cpp", ...
  std::string code;      // ends with a newline
};

/// Returns the response's text after its last <|begin_of_solution|> and then after the last </think> (without them: the
/// whole response), without white space at both ends.
std::string answer_part(std::string_view response);

/// Returns the last ``` block in answer_part(response) that is marked with one of `languages` (python3 and py mean
/// python, c++ means cpp). If there is none, returns the last block without a mark, as Python. A text without any ```
/// is a Python program as a whole, if it has 1 to 4000 bytes. Ignores an unclosed block. nullopt if nothing is found.
std::optional<CodeBlock> last_code_block(std::string_view response, const std::set<std::string>& languages);

}  // namespace roll
