// A server of cpp-httplib that waits for nobody: every connection has a thread of its own, and whoever says nothing
// keeps no other waiting.
#pragma once

#include <functional>
#include <string>

namespace httplib {
class Server;
struct Request;
}  // namespace httplib

namespace roll {

/// Sets up `server` and binds it: 0 is a free port. Call before listen_after_bind(). `patience_s`: with a client that
/// says nothing. The port; -1: it is taken, or `host` is no address of this machine.
int bind_listener(httplib::Server& server, const std::string& host, int port, int patience_s);

/// Whether the request's Host is this machine: a page of somebody else, whose name was made to lead here, is not.
bool names_this_machine(const httplib::Request& request);

/// Whether who asked has hung up.
bool has_hung_up(const httplib::Request& request);

}  // namespace roll
