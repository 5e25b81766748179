#include "transport/door.h"

#include <iterator>

#include "base/clock.h"

namespace roll {

namespace {

constexpr double kHelloLimit_s = 10;
constexpr size_t kMostCallers = 256;    // at once; beyond, the oldest is dropped
constexpr double kMinCallerTime_s = 1;  // but only after this time

constexpr std::string_view kOfCaller = "caller", kOfDoor = "door", kOfSession = "session";

template <class T>
std::span<const std::byte> object_bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}
template <class T>
std::span<std::byte> writable_bytes(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

/// Bytes of a caller's message before its proof: the handshake without the door's number.
constexpr size_t kHandshakeBytes = sizeof(Handshake) - sizeof(Nonce);

/// Sends all bytes at once. A conversation's few bytes fit any socket's buffer; if it is full, the peer does not read.
void send_now(const Socket& socket, std::span<const std::byte> bytes) {
  if (socket.send_some(bytes) != bytes.size()) throw ConnectionLost("the peer does not read");
}

}  // namespace

bool Door::has_room() const {
  return callers_.size() < kMostCallers || monotonic_s() - callers_.front().since_s > kMinCallerTime_s;
}

void Door::accept_all() {
  while (has_room()) {
    Caller caller{listener_.accept_one(), {}, {}, 0, monotonic_s()};
    if (!caller.socket.is_open()) return;
    caller.handshake.door_nonce = fresh_nonce();
    try {
      send_now(caller.socket, caller.handshake.door_nonce);
    } catch (const ConnectionLost&) {
      continue;
    }
    if (callers_.size() == kMostCallers) callers_.pop_front();
    callers_.push_back(std::move(caller));
  }
}

bool Door::receive_message(Caller& caller) const {
  size_t& count = caller.num_received;
  if (count < kHandshakeBytes)
    count += caller.socket.receive_some(writable_bytes(caller.handshake).subspan(sizeof(Nonce) + count));
  if (count >= kHandshakeBytes && count < kHandshakeBytes + sizeof(Digest))
    count += caller.socket.receive_some(writable_bytes(caller.proof).subspan(count - kHandshakeBytes));
  return count == kHandshakeBytes + sizeof(Digest);
}

std::optional<Guest> Door::authenticate(Caller& caller) const {
  const auto handshake = object_bytes(caller.handshake);
  if (!are_equal(caller.proof, make_proof(secret_, kOfCaller, handshake))) return std::nullopt;
  send_now(caller.socket, make_proof(secret_, kOfDoor, handshake));
  return Guest{caller.handshake.hello, make_proof(secret_, kOfSession, handshake), std::move(caller.socket)};
}

std::optional<Guest> Door::next() {
  if (auto guest = receive_from_callers()) return guest;  // finished callers first, before any is dropped
  accept_all();
  return receive_from_callers();
}

std::optional<Guest> Door::receive_from_callers() {
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    std::optional<Guest> guest;
    bool stays = monotonic_s() - caller->since_s < kHelloLimit_s;
    try {
      if (receive_message(*caller)) {
        guest = authenticate(*caller);
        stays = false;
      }
    } catch (const ConnectionLost&) {
      stays = false;
    }
    caller = stays ? std::next(caller) : callers_.erase(caller);
    if (guest) return guest;
  }
  return std::nullopt;
}

void Door::add_polls(std::vector<pollfd>& polls) const {
  if (has_room()) polls.push_back({listener_.fd(), POLLIN, 0});
  for (const Caller& caller : callers_) polls.push_back({caller.socket.fd(), POLLIN, 0});
}

DoorVisit::DoorVisit(Socket socket, const JobSecret& secret, const Hello& hello)
    : socket_(std::move(socket)), secret_(secret), handshake_{{}, fresh_nonce(), hello} {}

void DoorVisit::answer() {
  const Digest proof = make_proof(secret_, kOfCaller, object_bytes(handshake_));
  send_now(socket_, object_bytes(handshake_).subspan(sizeof(Nonce)));
  send_now(socket_, proof);
}

bool DoorVisit::go_on() {
  size_t& count = num_received_;
  if (count < sizeof(Nonce)) {
    count += socket_.receive_some(std::span(handshake_.door_nonce).subspan(count));
    if (count < sizeof(Nonce)) return false;
    answer();
  }
  if (count < sizeof(Nonce) + sizeof(Digest))
    count += socket_.receive_some(std::span(proof_).subspan(count - sizeof(Nonce)));
  if (count < sizeof(Nonce) + sizeof(Digest)) return false;
  if (!are_equal(proof_, make_proof(secret_, kOfDoor, object_bytes(handshake_))))
    throw ConnectionLost("the listener does not know the job's secret");
  return true;
}

JobSecret DoorVisit::session() const {
  return make_proof(secret_, kOfSession, object_bytes(handshake_));
}

}  // namespace roll
