#include "collect/program_driver.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "process/descriptor_limit.h"
#include "process/poll_set.h"

namespace roll {

void check_opening(const Opening& opening, uint64_t seed, const std::string& observation) {
  if (opening.observation != observation)
    throw EnvironmentFailed(EnvironmentFault::kProtocol,
                            fmt::format("the level of seed {} began otherwise than before; a seed is one level", seed));
}

ProgramDriver::ProgramDriver(const std::map<std::string, const EnvironmentArgs*>& kinds, OnAnswer on_answer)
    : on_answer_(std::move(on_answer)), wake_(make_pipe("pipe for news")) {
  int64_t num_needed = 0;
  for (const auto& [tag, args] : kinds) {
    const std::string where = "custom_envs." + tag + ".env_config.";
    num_needed += num_descriptors(*args);
    require_descriptors(num_needed, fmt::format("{}world_size = {}", where, args->world_size));
    for (int64_t i = 0; i < args->world_size; ++i)
      kinds_[tag].seats.push_back(
          std::make_unique<Seat>(Seat{.tag = tag, .player = CommandPlayer(*args, where, make_peer(*args, where, i))}));
  }
  ::fcntl(wake_.read_end.get(), F_SETFL, O_NONBLOCK);
  ::fcntl(wake_.write_end.get(), F_SETFL, O_NONBLOCK);
  thread_ = std::thread([this] { run(); });
}

ProgramDriver::~ProgramDriver() {
  post([this] { is_ending_ = true; });
  thread_.join();
}

void ProgramDriver::begin(int64_t number, const std::string& tag, uint64_t seed, std::string observation) {
  post([this, number, trajectory = Trajectory{.tag = tag, .seed = seed, .observation = std::move(observation)}] {
    Kind& kind = kinds_.at(trajectory.tag);
    trajectories_[number] = trajectory;
    kind.waiting.push_back(number);
    const auto free = std::ranges::find(kind.seats, At::kFree, [](const auto& seat) { return seat->at; });
    if (free != kind.seats.end()) seat_next(**free);
  });
}

void ProgramDriver::step(int64_t number, std::string message) {
  post([this, number, message = std::move(message)] {
    Trajectory& trajectory = trajectories_.at(number);
    trajectory.message = message;
    if (trajectory.seat) react(*trajectory.seat);
  });
}

void ProgramDriver::end(int64_t number) {
  post([this, number] {
    const auto found = trajectories_.find(number);
    Seat* seat = found->second.seat;
    if (!seat) std::erase(kinds_.at(found->second.tag).waiting, number);
    trajectories_.erase(found);
    if (!seat) return;
    seat->trajectory = kNobody;
    react(*seat);
  });
}

void ProgramDriver::post(std::function<void()> news) {
  {
    const std::lock_guard lock(mutex_);
    news_.push_back(std::move(news));
  }
  [[maybe_unused]] const ssize_t n = ::write(wake_.write_end.get(), "", 1);  // a full pipe wakes the thread, too
}

void ProgramDriver::run() {
  while (true) {
    std::vector<std::function<void()>> news;
    {
      const std::lock_guard lock(mutex_);
      news.swap(news_);
    }
    for (const auto& hear : news) hear();
    if (is_ending_) return kinds_.clear();  // the thread that started the programs must stop them: they end with it
    for (Seat* seat : wait()) go_on(*seat);
  }
}

/// Waits until there is news, an answer or a timeout. Returns the seats that are ready.
std::vector<ProgramDriver::Seat*> ProgramDriver::wait() {
  PollSet<Seat> polls;
  polls.others().push_back({wake_.read_end.get(), POLLIN, 0});
  for (const auto& [tag, kind] : kinds_)
    for (const auto& seat : kind.seats)
      if (seat->at != At::kFree && seat->at != At::kTurn)
        seat->player.add_polls(polls.add(*seat, seat->player.next_look()));
  const std::vector<Seat*> ready = polls.wait();
  std::array<char, 4096> waste;
  [[maybe_unused]] const ssize_t n = ::read(wake_.read_end.get(), waste.data(), waste.size());
  return ready;
}

void ProgramDriver::seat_next(Seat& seat) {
  seat.at = At::kFree;
  seat.failed.reset();
  seat.trajectory = kNobody;
  std::deque<int64_t>& waiting = kinds_.at(seat.tag).waiting;
  if (waiting.empty()) return;
  seat.trajectory = waiting.front();
  waiting.pop_front();
  Trajectory& trajectory = trajectories_.at(seat.trajectory);
  trajectory.seat = &seat;
  seat.player.reset(trajectory.seed);
  seat.at = At::kReset;
}

/// Continues the program's current operation; handles its answer once complete.
void ProgramDriver::go_on(Seat& seat) {
  TurnAnswer answer;
  try {
    const auto said = seat.player.go_on();
    if (!said) return;
    if (const auto* reaction = std::get_if<Reaction>(&*said)) answer.reaction = *reaction;
    if (const auto* opening = std::get_if<Opening>(&*said); opening && seat.trajectory != kNobody) {
      const Trajectory& trajectory = trajectories_.at(seat.trajectory);
      check_opening(*opening, trajectory.seed, trajectory.observation);
    }
  } catch (const EnvironmentFailed& failure) {
    answer = fault_answer(failure);
    seat.failed = answer;
  }
  const At was = std::exchange(seat.at, At::kTurn);
  if (was == At::kClose) return seat_next(seat);
  if (was == At::kStep && seat.trajectory != kNobody) on_answer_(seat.trajectory, std::move(answer));
  react(seat);
}

/// Starts what the trajectory needs next, if the program is idle.
void ProgramDriver::react(Seat& seat) {
  if (seat.at != At::kTurn) return;
  if (seat.trajectory == kNobody) {
    if (seat.failed) return seat_next(seat);
    seat.player.close();
    seat.at = At::kClose;
    return;
  }
  const auto message = std::exchange(trajectories_.at(seat.trajectory).message, std::nullopt);
  if (!message) return;
  if (seat.failed) return on_answer_(seat.trajectory, *seat.failed);
  seat.player.step(*message);
  seat.at = At::kStep;
}

}  // namespace roll
