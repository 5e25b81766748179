// A small job for the launch tests: `dist_ranks N mode` starts N ranks of itself, as `roll train -n N` does, and ends
// the way app/main.cpp does.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>

#include "base/env.h"
#include "base/error.h"
#include "device/cuda_library.h"
#include "dist/communicator.h"
#include "job/deadline.h"
#include "job/ending.h"
#include "job/join.h"
#include "job/launch.h"
#include "job/mpirun_output.h"
#include "job/restart.h"
#include "job/threads.h"
#include "job/world.h"
#include "process/stop.h"

namespace {

using roll::Communicator;

void say(const Communicator& ranks, const std::string& text) {
  std::printf("rank %d of %d: %s\n", ranks.rank(), ranks.size(), text.c_str());
  std::fflush(stdout);
}

std::vector<int> everyone(const Communicator& ranks) {
  std::vector<int> all(static_cast<size_t>(ranks.size()));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

void sum(Communicator& ranks) {
  say(ranks,
      fmt::format("sum {} over {}, threads {}, terminal {}", ranks.all_reduce_sum(int64_t{ranks.rank() + 1}, "test"),
                  ranks.kind(), at::get_num_threads(), roll::env("ROLL_TERMINAL").value_or("unset")));
}

void one_throws(Communicator& ranks) {
  if (ranks.rank() == 1) throw roll::UserError("data.jsonl:3: bad row");
  ranks.barrier("never complete");
}

void two_disagree(Communicator& ranks) {
  roll::agree(ranks, [&] {
    if (ranks.rank() >= 1) throw roll::user_error("rank {} saw a bad file", ranks.rank());
  });
}

void last_crashes(Communicator& ranks) {
  if (const std::string note = roll::restart_note(); !note.empty() && ranks.is_first()) say(ranks, note);
  if (ranks.rank() == ranks.size() - 1) std::raise(SIGSEGV);
  ranks.barrier("never complete");
}

void one_is_late(Communicator& ranks) {
  ranks.set_step(12);
  if (ranks.rank() == 1) ::sleep(60);
  ranks.barrier("gradients");
}

/// Some ranks are in the world's collective, rank 1 in that of a group of all.
void one_is_elsewhere(Communicator& ranks) {
  const auto all = ranks.split(everyone(ranks), "all");
  ranks.rank() == 1 ? all->barrier("news") : ranks.barrier("gradients");
}

/// Rank 0 starts what nobody joins, and what it uses goes away.
void one_gives_up(Communicator& ranks) {
  auto group = ranks.split(everyone(ranks), "shards");
  if (!ranks.is_first()) ranks.barrier("never complete");
  const auto pending = group->start_all_reduce(at::ones({40000}), "bucket");
  ::usleep(100000);
  group.reset();
  pending->wait();
}

void last_is_killed(Communicator& ranks) {
  if (ranks.rank() == ranks.size() - 1) std::raise(SIGKILL);
  ranks.barrier("never complete");
}

void ranks_diverge(Communicator& ranks) {
  at::Tensor counts = at::ones({2});
  ranks.rank() == 1 ? ranks.barrier("step end") : ranks.all_reduce_sum(counts, "counts");
}

/// Together, as after a checkpoint: once one has left, mpirun ends the others.
void leave(Communicator& ranks) {
  say(ranks, "leaves in order");
  ranks.barrier("all have said it");
  roll::throw_if_stopped();
}

void work_until_stopped(Communicator& ranks) {
  ranks.barrier("all are here");
  if (ranks.is_first()) say(ranks, "working");
  while (!roll::stop_agreed(ranks)) ::usleep(10000);
  leave(ranks);
}

void work_on_after_wish(Communicator& ranks) {
  ranks.barrier("all are here");
  if (ranks.is_first()) say(ranks, "working");
  while (!roll::stop_agreed(ranks)) ::usleep(10000);
  for (int i = 0; i < 30; ++i) ::usleep(100000);
  leave(ranks);
}

/// Rank 1 never looks at the wish; the others wait for it in a collective.
void wait_until_stopped(Communicator& ranks) {
  ranks.barrier("all are here");
  if (ranks.is_first()) say(ranks, "working");
  if (ranks.rank() == ranks.size() - 1) ::sleep(60), ::sleep(60);
  ranks.barrier("never complete");
}

void work_without_listening(Communicator& ranks) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM}) std::signal(number, SIG_DFL);
  wait_until_stopped(ranks);
}

/// Two deadlines: one in time, one not.
void one_has_a_deadline(Communicator& ranks) {
  {
    const roll::Deadline deadline(2, "roll: too early", 4);
    sum(ranks);
  }
  ::sleep(3);
  const roll::Deadline deadline(ranks.rank() == 1 ? 1 : 60, "roll: rank 1 waits no longer", 3);
  ::sleep(60);
}

void one_hangs_at_exit(Communicator& ranks) {
  if (ranks.rank() == 1) std::atexit([] { ::sleep(60), ::_exit(9); });
  one_throws(ranks);
}

const std::map<std::string, void (*)(Communicator&)> kModes = {{"sum", sum},
                                                               {"throw", one_throws},
                                                               {"disagree", two_disagree},
                                                               {"crash", last_crashes},
                                                               {"late", one_is_late},
                                                               {"elsewhere", one_is_elsewhere},
                                                               {"give-up", one_gives_up},
                                                               {"killed", last_is_killed},
                                                               {"deadline", one_has_a_deadline},
                                                               {"hang-at-exit", one_hangs_at_exit},
                                                               {"diverge", ranks_diverge},
                                                               {"stop", work_until_stopped},
                                                               {"stop-slowly", work_on_after_wish},
                                                               {"deaf", work_without_listening},
                                                               {"stop-waiting", wait_until_stopped}};

int run(int num_ranks, const std::string& mode, const std::vector<std::string>& args) {
  const auto start_limit_s = static_cast<double>(roll::env_count("ROLL_TEST_START").value_or(60));
  const auto restarts = static_cast<int>(roll::env_count("ROLL_TEST_RESTARTS").value_or(0));
  const roll::Launch launch{
      .num_ranks = num_ranks, .args = args, .start_limit_s = start_limit_s, .max_restarts = restarts};
  if (const auto code = roll::run_ranks(launch)) return *code;
  roll::catch_stop_signals();
  roll::set_threads_per_rank(roll::detect_world());
  const bool is_impatient = mode == "late" || mode == "elsewhere";
  const auto ranks = roll::make_communicator(
      {.kind = roll::Transport::kAuto, .device = at::kCPU, .timeout_s = is_impatient ? 1.0 : 30.0});
  if (ranks->is_first()) roll::report_start();
  kModes.at(mode)(*ranks);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    roll::load_cuda_library();
    return run(std::atoi(argv[1]), argv[2], {argv + 1, argv + argc});
  } catch (const std::exception& error) {
    const std::string line = roll::error_line(error);
    if (!line.empty()) std::fprintf(stderr, "%s\n", line.c_str());
    roll::abort_all_ranks(error);
    return roll::exit_code_for(error);
  }
}
