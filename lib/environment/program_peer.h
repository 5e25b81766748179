// A program that answers lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "environment/line_peer.h"
#include "sandbox/boxed_program.h"

namespace roll {

/// `is_boxed`: in a sandbox; otherwise its memory is its own affair.
std::unique_ptr<LinePeer> make_program_peer(const BoxedProgram& program, bool is_boxed);

/// What was said, on one line and not too long.
std::string shown_answer(std::string_view said);

}  // namespace roll
