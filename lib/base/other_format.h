// Recognises files in other formats than JSON lines by their first bytes, for a clear error.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// Throws UserError if `beginning`, the first non-blank line of `file`, is not JSON but in a known format, such as
/// Parquet or gzip. The message names the format and the command that converts the file `file` to JSON lines. Returns
/// if the format is not recognised.
void refuse_other_format(std::string_view beginning, const std::string& file);

}  // namespace roll
