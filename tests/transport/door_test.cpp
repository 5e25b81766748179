#include "transport/door.h"

#include <catch2/catch.hpp>

#include <cstring>
#include <random>
#include <thread>

#include "base/error.h"

namespace roll {

namespace {

Door open_door() {
  return {listen_at(loopback()), secret_of("right")};
}

std::vector<std::byte> words(const std::string& secret, uint64_t rank) {
  const Hello hello{secret_of(secret), rank, {}};
  std::vector<std::byte> bytes(sizeof hello);
  std::memcpy(bytes.data(), &hello, sizeof hello);
  return bytes;
}

Socket call(const Door& door, std::span<const std::byte> bytes) {
  Socket caller = connect_to(door.endpoint());
  caller.send_all(bytes, [] {});
  return caller;
}

/// Whom it lets in until this rank comes, who calls last.
std::vector<uint64_t> let_in(Door& door, uint64_t last) {
  std::vector<uint64_t> ranks;
  while (ranks.empty() || ranks.back() != last) {
    if (const auto guest = door.next()) ranks.push_back(guest->hello.rank);
    std::this_thread::yield();
  }
  return ranks;
}

}  // namespace

TEST_CASE("a door lets in who says the secret, whatever strangers do", "[dist]") {
  Door door = open_door();
  CHECK_FALSE(door.next());
  std::vector<Socket> held;
  held.push_back(call(door, {}));               // says nothing
  call(door, {});                               // leaves at once
  call(door, words("right", 3)).send_some({});  // a rank that leaves after its words is still who it is
  held.push_back(call(door, words("wrong", 1)));
  held.push_back(call(door, words("", 1)));
  const auto half = words("right", 2);
  held.push_back(call(door, std::span(half).first(half.size() - 1)));
  held.push_back(call(door, words("right", 4)));
  CHECK(let_in(door, 4) == std::vector<uint64_t>{3, 4});
  held[3].send_all(std::span(half).last(1), [] {});
  CHECK(let_in(door, 2) == std::vector<uint64_t>{2});
}

TEST_CASE("a crowd at the door does not keep a rank out", "[dist]") {
  Door door = open_door();
  std::vector<Socket> crowd;
  for (int i = 0; i < 600; ++i) {
    crowd.push_back(call(door, {}));
    CHECK_FALSE(door.next());
  }
  const Socket rank = call(door, words("right", 1));
  CHECK(let_in(door, 1) == std::vector<uint64_t>{1});
}

TEST_CASE("a door takes any bytes", "[dist]") {
  Door door = open_door();
  std::mt19937_64 random(5);
  for (int i = 0; i < 300; ++i) {
    auto bytes = words("right", i);
    bytes[random() % sizeof(Secret)] ^= std::byte(1 << random() % 8);
    const Socket stranger = call(door, std::span(bytes).first(random() % (bytes.size() + 1)));
    CHECK_FALSE(door.next());
  }
  const Socket rank = call(door, words("right", 1000));
  CHECK(let_in(door, 1000) == std::vector<uint64_t>{1000});
}

TEST_CASE("a secret has a length", "[dist]") {
  CHECK(secret_of(std::string(63, 'x'))[62] == 'x');
  CHECK_THROWS_AS(secret_of(std::string(64, 'x')), UserError);
  CHECK(random_secret().size() == 32);
  CHECK(random_secret() != random_secret());
}

}  // namespace roll
