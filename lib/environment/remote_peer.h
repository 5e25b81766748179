// Peer (line_peer.h) that is a program on another host, run by `roll serve-environment` (program_server.h). Lines go
// over TCP, once both sides have proved that they know the job's secret (ROLL_JOB_SECRET). A question is its time
// limit, a space and the line. An answer is "ok" or the name of a fault, a space, and the program's line or the reason.
#pragma once

#include <memory>
#include <string>

#include "environment/line_peer.h"
#include "transport/proof.h"

namespace roll {

/// UserError, starting with `key`: the address is not "host:port".
std::unique_ptr<LinePeer> make_remote_peer(const std::string& address, const std::string& key);

/// UserError, starting with `key`: the host is unknown, or the secret is not set.
void check_remote(const std::string& address, const std::string& key);

/// Returns the secret of program servers, derived from the job's. UserError, starting with `subject`: ROLL_JOB_SECRET
/// is not set.
JobSecret environment_secret(const std::string& subject);

}  // namespace roll
