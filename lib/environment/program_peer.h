// Peer (line_peer.h) that is a program on this machine. For CommandPlayer and ProgramServer.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "environment/line_peer.h"
#include "sandbox/boxed_program.h"

namespace roll {

/// Creates a peer that starts the program at the first question. `is_boxed`: runs it in a sandbox; if false,
/// program.memory_mb is ignored. Destroy the peer on the thread that started the program.
std::unique_ptr<LinePeer> make_program_peer(const BoxedProgram& program, bool is_boxed);

/// Quotes an answer for an error message: a JSON string of its first 200 bytes.
std::string shown_answer(std::string_view line);

}  // namespace roll
