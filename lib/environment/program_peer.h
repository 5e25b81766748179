// A program that answers lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "environment/line_peer.h"
#include "sandbox/boxed_program.h"

namespace roll {

std::unique_ptr<LinePeer> make_program_peer(std::vector<std::string> command);
/// Likewise, in a box.
std::unique_ptr<LinePeer> make_program_peer(BoxedProgram program);

/// What was said, on one line and not too long.
std::string shown_answer(std::string_view said);

}  // namespace roll
