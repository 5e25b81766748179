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
    throw EnvironmentFailed(
        EnvironmentFault::kProtocol,
        fmt::format("began the level of seed {} differently than before; one seed must always give the same level",
                    seed));
}

ProgramDriver::ProgramDriver(const std::map<std::string, const EnvironmentArgs*>& args_by_tag, OnAnswer on_answer)
    : on_answer_(std::move(on_answer)), wake_(make_pipe("pipe for environment programs")) {
  int64_t num_needed = 0;
  for (const auto& [tag, args] : args_by_tag) {
    const std::string where = "custom_envs." + tag + ".env_config.";
    num_needed += num_descriptors(*args);
    require_descriptors(num_needed, fmt::format("{}world_size = {}", where, args->world_size));
    for (int64_t i = 0; i < args->world_size; ++i)
      groups_[tag].programs.push_back(std::make_unique<Program>(
          Program{.tag = tag, .player = CommandPlayer(*args, where, make_peer(*args, where, i))}));
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
    ProgramGroup& group = groups_.at(trajectory.tag);
    trajectories_[number] = trajectory;
    group.waiting.push_back(number);
    const auto free =
        std::ranges::find(group.programs, State::kFree, [](const auto& program) { return program->state; });
    if (free != group.programs.end()) start_next(**free);
  });
}

void ProgramDriver::step(int64_t number, std::string message) {
  post([this, number, message = std::move(message)] {
    Trajectory& trajectory = trajectories_.at(number);
    trajectory.message = message;
    if (trajectory.program) start_operation(*trajectory.program);
  });
}

void ProgramDriver::end(int64_t number) {
  post([this, number] {
    const auto found = trajectories_.find(number);
    Program* program = found->second.program;
    if (!program) std::erase(groups_.at(found->second.tag).waiting, number);
    trajectories_.erase(found);
    if (!program) return;
    program->trajectory = kNoTrajectory;
    start_operation(*program);
  });
}

void ProgramDriver::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  [[maybe_unused]] const ssize_t n = ::write(wake_.write_end.get(), "", 1);  // a full pipe wakes the thread, too
}

void ProgramDriver::run() {
  while (true) {
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (const auto& task : tasks) task();
    if (is_ending_) return groups_.clear();  // the thread that started the programs must stop them: they end with it
    for (Program* program : wait()) continue_program(*program);
  }
}

/// Waits until there is a task, an answer or a timeout. Returns the programs that are ready.
std::vector<ProgramDriver::Program*> ProgramDriver::wait() {
  PollSet<Program> polls;
  polls.others().push_back({wake_.read_end.get(), POLLIN, 0});
  for (const auto& [tag, group] : groups_)
    for (const auto& program : group.programs)
      if (program->state != State::kFree && program->state != State::kTurn)
        program->player.add_polls(polls.add(*program, program->player.next_check_time()));
  const std::vector<Program*> ready = polls.wait();
  std::array<char, 4096> drained;
  [[maybe_unused]] const ssize_t n = ::read(wake_.read_end.get(), drained.data(), drained.size());
  return ready;
}

void ProgramDriver::start_next(Program& program) {
  program.state = State::kFree;
  program.failed.reset();
  program.trajectory = kNoTrajectory;
  std::deque<int64_t>& waiting = groups_.at(program.tag).waiting;
  if (waiting.empty()) return;
  program.trajectory = waiting.front();
  waiting.pop_front();
  Trajectory& trajectory = trajectories_.at(program.trajectory);
  trajectory.program = &program;
  program.player.reset(trajectory.seed);
  program.state = State::kReset;
}

/// Continues the program's current operation; handles its answer once complete.
void ProgramDriver::continue_program(Program& program) {
  TurnAnswer answer;
  try {
    const auto result = program.player.advance();
    if (!result) return;
    if (const auto* reaction = std::get_if<Reaction>(&*result)) answer.reaction = *reaction;
    if (const auto* opening = std::get_if<Opening>(&*result); opening && program.trajectory != kNoTrajectory) {
      const Trajectory& trajectory = trajectories_.at(program.trajectory);
      check_opening(*opening, trajectory.seed, trajectory.observation);
    }
  } catch (const EnvironmentFailed& failure) {
    answer = fault_answer(failure);
    program.failed = answer;
  }
  const State finished_state = std::exchange(program.state, State::kTurn);
  if (finished_state == State::kClose) return start_next(program);
  if (finished_state == State::kStep && program.trajectory != kNoTrajectory)
    on_answer_(program.trajectory, std::move(answer));
  start_operation(program);
}

/// Starts what the trajectory needs next, if the program is idle.
void ProgramDriver::start_operation(Program& program) {
  if (program.state != State::kTurn) return;
  if (program.trajectory == kNoTrajectory) {
    if (program.failed) return start_next(program);
    program.player.close();
    program.state = State::kClose;
    return;
  }
  const auto message = std::exchange(trajectories_.at(program.trajectory).message, std::nullopt);
  if (!message) return;
  if (program.failed) return on_answer_(program.trajectory, *program.failed);
  program.player.step(*message);
  program.state = State::kStep;
}

}  // namespace roll
