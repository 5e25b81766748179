#include "environment/program_server.h"

#include <charconv>

#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "environment/environment.h"
#include "environment/program_peer.h"
#include "process/descriptor_limit.h"
#include "process/poll_set.h"

namespace roll {

namespace {
constexpr std::chrono::milliseconds kStopCheckInterval{200};  // interval between calls of should_stop
constexpr size_t kLongestQuestion = 16 << 20;                 // bytes
constexpr int64_t kDescriptorsPerPlayer = 6,
                  kDoorDescriptors = 256;  // descriptors: a player's socket and program pipes; the door's
}  // namespace

ProgramServer::ProgramServer(BoxedProgram program, bool is_boxed, const Endpoint& address, const JobSecret& secret,
                             int64_t max_programs)
    : program_(std::move(program)),
      is_boxed_(is_boxed),
      max_programs_(max_programs),
      door_(listen_at(address), secret) {
  check_executable(program_.command.at(0));
  if (const auto why = is_boxed_ ? why_not_boxed(program_) : std::nullopt) throw user_error("--sandbox: {}", *why);
  require_descriptors(kDescriptorsPerPlayer * max_programs + kDoorDescriptors,
                      fmt::format("--programs = {}", max_programs));
}

void ProgramServer::run(const std::function<bool()>& should_stop) {
  while (!should_stop()) {
    while (auto guest = door_.next()) players_.push_back({.socket = std::move(guest->socket)});
    PollSet<Player> polls;
    door_.add_polls(polls.others());
    for (Player& player : players_) {
      auto& player_polls = polls.add(
          player, player.awaits_answer ? player.program->next_check_time() : LinePeer::Clock::time_point::max());
      player_polls.push_back(
          {player.socket.fd(), static_cast<short>(player.to_send.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      if (player.awaits_answer) player.program->add_polls(player_polls);
    }
    for (Player* player : polls.wait(LinePeer::Clock::now() + kStopCheckInterval)) {
      try {
        serve(*player);
      } catch (const ConnectionLost&) {
        player->is_gone = true;
      }
    }
    for (const Player& player : players_) num_programs_ -= player.is_gone && player.program ? 1 : 0;
    std::erase_if(players_, [](const Player& player) { return player.is_gone; });
  }
  players_.clear();  // this thread started the programs and must stop them: they end with it
}

/// Serves a player as far as possible without waiting. ConnectionLost: the connection is over.
void ProgramServer::serve(Player& player) {
  receive_into(player.received, player.socket, kLongestQuestion);
  if (player.received.size() >= kLongestQuestion) throw ConnectionLost("the question is too long");
  const size_t newline = player.received.find('\n');
  if (!player.awaits_answer && newline != std::string::npos) {
    const std::string question = player.received.substr(0, newline);
    player.received.erase(0, newline + 1);
    ask(player, question);
  }
  if (player.awaits_answer) try {
      if (const auto answer = player.program->advance()) {
        player.to_send = "ok " + *answer + '\n';
        player.awaits_answer = false;
      }
    } catch (const EnvironmentFailed& failure) {
      player.to_send = fmt::format("{} {}\n", enum_name(failure.fault), to_line(Json(failure.what())));
      player.awaits_answer = false;
    }
  player.to_send.erase(0, player.socket.send_some(std::as_bytes(std::span(player.to_send))));
}

void ProgramServer::ask(Player& player, const std::string& question) {
  double timeout_s = 0;
  const auto [end, error] = std::from_chars(question.data(), question.data() + question.size(), timeout_s);
  if (error != std::errc() || *end != ' ' || !(timeout_s > 0)) throw ConnectionLost("the question is not valid");
  if (!player.program) {
    if (num_programs_ == max_programs_) {
      player.to_send =
          fmt::format("{} {}\n", enum_name(EnvironmentFault::kCrash),
                      to_line(Json(fmt::format("has no program free: all {} are in use (--programs)", max_programs_))));
      return;
    }
    player.program = make_program_peer(program_, is_boxed_);
    ++num_programs_;
  }
  player.program->begin(question.substr(static_cast<size_t>(end - question.data()) + 1), timeout_s);
  player.awaits_answer = true;
}

}  // namespace roll
