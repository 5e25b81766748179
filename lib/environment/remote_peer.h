// Peer (line_peer.h) that is a program on another host, run by `roll serve-environment` (program_server.h). For
// command_player.h. Lines go over TCP, once both sides have proved that they know the job's secret (environment
// variable ROLL_JOB_SECRET). A question is sent as "SECONDS LINE", with the time limit for the answer. The answer is
// "ok LINE", or "FAULT REASON": the name of an EnvironmentFault and a JSON string.
#pragma once

#include <memory>
#include <string>

#include "environment/line_peer.h"
#include "transport/proof.h"

namespace roll {

/// Creates a peer that connects at the first question. `address`: "host:port". `key`: configuration key of the address,
/// the start of error messages. Throws UserError if the address is malformed.
std::unique_ptr<LinePeer> make_remote_peer(const std::string& address, const std::string& key);

/// Throws UserError if the address is malformed, its host is unknown, or ROLL_JOB_SECRET is not set. Does not connect.
void check_remote(const std::string& address, const std::string& key);

/// Returns the secret of environment servers, derived from ROLL_JOB_SECRET. `subject`: start of the error message, such
/// as the configuration key. Throws UserError if ROLL_JOB_SECRET is not set.
JobSecret environment_secret(const std::string& subject);

}  // namespace roll
