// A program on another host, run there by `roll serve-environment` (program_server.h): lines over TCP, once both sides
// have proved to each other that they know the job's secret (ROLL_JOB_SECRET). A question is its time limit, a space
// and the line; an answer is "ok" or the name of a fault, a space, and the program's line or why there is none.
#pragma once

#include <memory>
#include <string>

#include "environment/line_peer.h"
#include "transport/proof.h"

namespace roll {

/// UserError, which `key` opens: no "host:port".
std::unique_ptr<LinePeer> make_remote_peer(const std::string& address, const std::string& key);

/// UserError, which `key` opens: no such host, or no secret.
void check_remote(const std::string& address, const std::string& key);

/// What opens the doors of programs, and no others. UserError, which `who` opens: ROLL_JOB_SECRET is not set.
JobSecret environment_secret(const std::string& who);

}  // namespace roll
