// Peer (line_peer.h) that is a local program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "environment/line_peer.h"
#include "sandbox/boxed_program.h"

namespace roll {

/// `is_boxed`: runs it in a sandbox; otherwise memory_mb does not apply.
std::unique_ptr<LinePeer> make_program_peer(const BoxedProgram& program, bool is_boxed);

/// Returns an answer for a message: on one line, shortened if it is long.
std::string shown_answer(std::string_view line);

}  // namespace roll
