// A port that only ranks of this job get through: a caller first says a secret and who it is, within a short time.
// Whoever says anything else, nothing, or leaves, is sent away, and the ranks neither wait for it nor fail by it.
#pragma once

#include <array>
#include <list>
#include <optional>
#include <string>

#include "transport/socket.h"

namespace roll {

/// Known to the ranks of one job; ended by zeros.
using Secret = std::array<char, 64>;
/// UserError: longer than 63 characters.
Secret secret_of(const std::string& text);
/// 128 random bits as text.
std::string random_secret();

/// The first words on a connection.
struct Hello {
  Secret secret{};
  uint64_t rank = 0;
  Endpoint endpoint{};  // where the caller itself listens; nowhere: {}
};

struct Guest {
  Hello hello;
  Socket socket;
};

class Door {
 public:
  Door(Socket listener, const Secret& secret) : listener_(std::move(listener)), secret_(secret) {}
  Endpoint endpoint() const { return listener_.own_endpoint(); }

  /// The next caller who knows the secret, without waiting for one.
  std::optional<Guest> next();

 private:
  struct Caller {
    Guest guest;
    size_t num_received;
    double since_s;
  };
  void accept_all();

  Socket listener_;
  Secret secret_;
  std::list<Caller> callers_;  // who have not said everything yet
};

}  // namespace roll
