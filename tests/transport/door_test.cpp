#include "transport/door.h"

#include <catch2/catch.hpp>

#include <random>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

using Bytes = std::vector<std::byte>;

Door open_door() {
  return {listen_at(loopback()), parse_secret("right")};
}

DoorVisit visit(const Door& door, const std::string& secret, uint64_t rank) {
  return {connect_to(door.endpoint()), parse_secret(secret), {rank, {}}};
}

Socket call(const Door& door, std::span<const std::byte> bytes) {
  Socket caller = connect_to(door.endpoint());
  caller.send_all(bytes, [] {});
  return caller;
}

/// Lets the door and the visitors talk until this rank has come in. Whom the door let in:
std::vector<uint64_t> let_in(Door& door, std::vector<DoorVisit*> visits, uint64_t last) {
  std::vector<uint64_t> ranks;
  while (ranks.empty() || ranks.back() != last) {
    if (const auto guest = door.next()) ranks.push_back(guest->hello.rank);
    std::erase_if(visits, [](DoorVisit* visit) {
      try {
        return visit->go_on();
      } catch (const ConnectionLost&) {
        return true;
      }
    });
    std::this_thread::yield();
  }
  return ranks;
}

/// What a rank that knows the secret says at a port that another one holds, who says `nonce`.
Bytes overheard(const std::string& secret, uint64_t rank, std::span<const std::byte> nonce) {
  const Socket listener = listen_at(loopback());
  DoorVisit visitor(connect_to(listener.own_endpoint()), parse_secret(secret), {rank, {}});
  Socket holder;
  while (!holder.is_open()) holder = listener.accept_one();
  holder.send_all(nonce, [] {});
  Bytes words(80);  // its number, who it is, its proof
  for (size_t size = 0; size < words.size(); size += holder.receive_some(std::span(words).subspan(size)))
    CHECK_FALSE(visitor.go_on());
  return words;
}

}  // namespace

TEST_CASE("a door lets in who proves to know the secret, whatever strangers do", "[dist]") {
  Door door = open_door();
  CHECK_FALSE(door.next());
  const Socket silent = call(door, {});
  call(door, {});  // leaves at once
  DoorVisit wrong = visit(door, "wrong", 1), empty = visit(door, "", 1), third = visit(door, "right", 3),
            fourth = visit(door, "right", 4);
  CHECK(let_in(door, {&wrong, &empty, &third}, 3) == std::vector<uint64_t>{3});
  CHECK(let_in(door, {&fourth}, 4) == std::vector<uint64_t>{4});
  CHECK(third.go_on());
  CHECK(third.session() != fourth.session());
}

TEST_CASE("callers that a door cannot hear at once wait, and all come in", "[dist]") {
  constexpr size_t kCallers = 270;
  Door door = open_door();
  std::vector<DoorVisit> visits;
  for (size_t rank = 0; rank < kCallers; ++rank) visits.push_back(visit(door, "right", rank));
  for (int i = 0; i < 3; ++i) CHECK_FALSE(door.next());  // nobody has said anything yet
  std::vector<Guest> guests;
  for (const Stopwatch watch; guests.size() < kCallers && watch.seconds() < 20;) {
    for (DoorVisit& one : visits) one.go_on();
    while (auto guest = door.next()) guests.push_back(std::move(*guest));
  }
  CHECK(guests.size() == kCallers);
}

TEST_CASE("who holds a door's places and says nothing is pushed out", "[dist]") {
  Door door = open_door();
  std::vector<Socket> silent;
  for (int i = 0; i < 256; ++i) silent.push_back(call(door, {}));
  CHECK_FALSE(door.next());
  DoorVisit caller = visit(door, "right", 7);
  const Stopwatch watch;
  CHECK(let_in(door, {&caller}, 7) == std::vector<uint64_t>{7});
  CHECK(watch.seconds() < 8);  // long before their time is over
}

TEST_CASE("both sides know the same session, and nobody says the secret", "[dist]") {
  Door door = open_door();
  DoorVisit caller = visit(door, "right", 1);
  std::optional<Guest> guest;
  while (!guest) {
    caller.go_on();
    guest = door.next();
  }
  while (!caller.go_on()) std::this_thread::yield();
  CHECK(caller.session() == guest->session);
  const Bytes words = overheard("a secret that many know", 1, fresh_nonce());
  CHECK(words.size() == 80);
  CHECK(std::string(reinterpret_cast<const char*>(words.data()), words.size()).find("secret") == std::string::npos);
}

TEST_CASE("what was overheard opens no door", "[dist]") {
  Door door = open_door();
  const Socket listens = call(door, {});
  CHECK_FALSE(door.next());
  Nonce nonce{};
  listens.receive_all(nonce, [] {});
  const Socket replays = call(door, overheard("right", 1, nonce));  // of a number that the door gave another caller
  DoorVisit rank = visit(door, "right", 2);
  CHECK(let_in(door, {&rank}, 2) == std::vector<uint64_t>{2});
}

TEST_CASE("who does not know the secret is no door", "[dist]") {
  for (const auto& answer : {Bytes(sizeof(Digest)), Bytes(sizeof(Digest), std::byte(255))}) {
    const Socket listener = listen_at(loopback());
    DoorVisit caller(connect_to(listener.own_endpoint()), parse_secret("right"), {1, {}});
    Socket holder;
    while (!holder.is_open()) holder = listener.accept_one();
    holder.send_all(fresh_nonce(), [] {});
    holder.send_all(answer, [] {});
    const auto all = [&] {
      while (!caller.go_on()) std::this_thread::yield();
    };
    CHECK_THROWS_AS(all(), ConnectionLost);
  }
  Door wrong(listen_at(loopback()), parse_secret("wrong"));
  DoorVisit caller = visit(wrong, "right", 1);
  const auto all = [&] {
    while (!caller.go_on()) CHECK_FALSE(wrong.next());
  };
  CHECK_THROWS_AS(all(), ConnectionLost);
}

TEST_CASE("a crowd at the door does not keep a rank out", "[dist]") {
  Door door = open_door();
  std::vector<Socket> crowd;
  for (int i = 0; i < 600; ++i) {
    crowd.push_back(call(door, {}));
    CHECK_FALSE(door.next());
  }
  DoorVisit rank = visit(door, "right", 1);
  CHECK(let_in(door, {&rank}, 1) == std::vector<uint64_t>{1});
}

TEST_CASE("a door takes any bytes", "[dist]") {
  Door door = open_door();
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    Bytes bytes = overheard("right", i, fresh_nonce());
    bytes[random() % bytes.size()] ^= std::byte(1 << random() % 8);
    const Socket stranger = call(door, std::span(bytes).first(random() % (bytes.size() + 1)));
    CHECK_FALSE(door.next());
  }
  DoorVisit rank = visit(door, "right", 1000);
  CHECK(let_in(door, {&rank}, 1000) == std::vector<uint64_t>{1000});
}

TEST_CASE("a proof is of its secret, its purpose and its message", "[dist]") {
  const auto proof = [](const std::string& secret, const char* purpose, const std::string& message) {
    return make_proof(parse_secret(secret), purpose, std::as_bytes(std::span(message)));
  };
  const Digest one = proof("secret", "door", "words");
  std::string hex;  // Python's hmac: of "door\0words" with the key that is hmac of "secret" with the key "roll's job\0"
  for (const std::byte byte : one) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
  CHECK(hex == "527ef46e4d4bc21341c0ea9bfef6f8c169a0ca4e25b7f879a3674f8c4409dd9c");
  CHECK(are_equal(one, proof("secret", "door", "words")));
  for (const Digest& other : {proof("secreT", "door", "words"), proof("secret", "doo", "rwords"),
                              proof("secret", "door", "wordt"), proof("secret", "door", "")})
    CHECK_FALSE(are_equal(one, other));
  CHECK(parse_secret(std::string(64, 'x')) != parse_secret(std::string(65, 'x')));
  CHECK(fresh_nonce() != fresh_nonce());
  CHECK(random_secret().size() == 32);
  CHECK(random_secret() != random_secret());
}

}  // namespace roll
