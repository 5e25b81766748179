// Files that are no JSON lines, recognised by how they begin, so that one message says what they are.
#pragma once

#include <string>
#include <string_view>

namespace roll {

/// UserError where `beginning`, the first line of `file` that is not blank, is another format's: it names it, and the
/// command that makes JSON lines of it.
void refuse_other_format(std::string_view beginning, const std::string& file);

}  // namespace roll
