// Server of `roll serve-environment`: runs environment programs for trainers on other hosts, which connect through
// remote_peer.h. A client must prove that it knows the secret. Each connection then gets one program, which starts at
// the first question and stops when the connection ends. One thread serves all connections.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "environment/line_peer.h"
#include "sandbox/boxed_program.h"
#include "transport/door.h"

namespace roll {

class ProgramServer {
 public:
  /// Starts listening at `address`. `is_boxed`: runs programs in sandboxes. `secret`: result of environment_secret().
  /// `max_programs`: most programs at once; questions of further clients get an error answer. Throws UserError if the
  /// program cannot be executed or isolated, or max_programs programs need too many file descriptors; SystemError if
  /// the port is taken.
  ProgramServer(BoxedProgram program, bool is_boxed, const Endpoint& address, const JobSecret& secret,
                int64_t max_programs);
  /// Returns the address at which the server listens.
  Endpoint endpoint() const { return door_.endpoint(); }
  /// Serves clients on the calling thread until `should_stop` returns true; calls it at least five times a second. Then
  /// stops all programs.
  void run(const std::function<bool()>& should_stop);

 private:
  struct Player {  // a connection
    Socket socket;
    std::string received{}, to_send{};
    std::unique_ptr<LinePeer> program{};
    bool awaits_answer = false;
    bool is_gone = false;
  };
  void serve(Player& player);
  void ask(Player& player, const std::string& question);

  const BoxedProgram program_;
  const bool is_boxed_;
  const int64_t max_programs_;
  Door door_;
  std::list<Player> players_;
  int64_t num_programs_ = 0;
};

}  // namespace roll
