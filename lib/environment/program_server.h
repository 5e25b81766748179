// Server of `roll serve-environment`: programs that play for trainers on other hosts, which connect through
// remote_peer.h. Each client that proves to know the secret gets one program, started at its first question and stopped
// with its connection. One thread serves all.
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
  /// `max_programs`: programs at once. `is_boxed`: runs them in sandboxes. UserError: the program cannot be started, or
  /// so many need too many descriptors. SystemError: the port is taken.
  ProgramServer(BoxedProgram program, bool is_boxed, const Endpoint& address, const JobSecret& secret,
                int64_t max_programs);
  Endpoint endpoint() const { return door_.endpoint(); }
  /// Serves until `should_stop` returns true.
  void run(const std::function<bool()>& should_stop);

 private:
  struct Player {
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
