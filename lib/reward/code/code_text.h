// Finds the program in a response.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace roll {

struct CodeBlock {
  std::string language, code;
};

/// What follows the last <|begin_of_solution|> and the last </think>.
std::string answer_part(std::string_view response);

/// The last ``` block of the answer part that is marked with one of `languages` (python3 and py mean python, c++ means
/// cpp); else the last without a mark, which is Python; without any fence all of it, if it is no longer than 4000
/// bytes. A block that does not end is none.
std::optional<CodeBlock> last_code_block(std::string_view response, const std::set<std::string>& languages);

}  // namespace roll
