#include "transport/door.h"

#include <algorithm>
#include <random>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr double kHelloLimit_s = 10;
constexpr size_t kMostCallers = 256;  // at once; more push out the one who has waited longest
constexpr int kMostAccepted = 128;    // between looks, so that nobody is pushed out unheard

}  // namespace

Secret secret_of(const std::string& text) {
  Secret secret{};
  if (text.size() >= secret.size())
    throw user_error("environment variable ROLL_JOB_SECRET: has {} characters: must have {} at most", text.size(),
                     secret.size() - 1);
  std::copy(text.begin(), text.end(), secret.begin());
  return secret;
}

std::string random_secret() {
  std::random_device random;
  std::string text;
  for (int i = 0; i < 4; ++i) text += fmt::format("{:08x}", random());
  return text;
}

void Door::accept_all() {
  for (int i = 0; i < kMostAccepted; ++i) {
    Socket caller = listener_.accept_one();
    if (!caller.is_open()) return;
    if (callers_.size() == kMostCallers) callers_.pop_front();
    callers_.push_back({{{}, std::move(caller)}, 0, monotonic_s()});
  }
}

std::optional<Guest> Door::next() {
  accept_all();
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    const auto words = std::as_writable_bytes(std::span(&caller->guest.hello, 1));
    bool stays = monotonic_s() - caller->since_s < kHelloLimit_s;
    try {
      caller->num_received += caller->guest.socket.receive_some(words.subspan(caller->num_received));
    } catch (const ConnectionLost&) {
      stays = false;
    }
    const bool said_all = caller->num_received == words.size();
    if (stays && !said_all) {
      ++caller;
      continue;
    }
    Guest guest = std::move(caller->guest);
    caller = callers_.erase(caller);
    if (said_all && guest.hello.secret == secret_) return guest;
  }
  return std::nullopt;
}

}  // namespace roll
