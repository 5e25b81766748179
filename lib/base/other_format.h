// Recognises files in other formats than JSON lines by their first bytes, for a clear error.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// UserError: `beginning`, the first non-blank line of `file`, is in another format. The message names the format and
/// the command that converts it to JSON lines.
void refuse_other_format(std::string_view beginning, const std::string& file);

}  // namespace roll
