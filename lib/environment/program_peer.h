// Peer (line_peer.h) that is a program on this machine. For command_player.h and program_server.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "environment/line_peer.h"
#include "sandbox/boxed_program.h"

namespace roll {

/// Creates a peer that starts the program at the first question. `is_boxed`: runs it in a sandbox; if false,
/// program.memory_mb is ignored. Use and destroy the peer on one thread, because the program ends with the thread that
/// started it.
std::unique_ptr<LinePeer> make_program_peer(const BoxedProgram& program, bool is_boxed);

/// Quotes an answer for an error message: a JSON string of its first 200 bytes, then " ..." if it is longer.
std::string shown_answer(std::string_view line);

}  // namespace roll
