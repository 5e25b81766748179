#include "app/job.h"

#include <ATen/Context.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iostream>

#include "app/version.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/terminal.h"
#include "config/secret.h"
#include "job/deadline.h"
#include "job/ending.h"
#include "job/join.h"
#include "job/launch.h"
#include "job/mpirun_output.h"
#include "job/threads.h"
#include "job/time_limit.h"
#include "job/world.h"
#include "model/device.h"
#include "process/stop.h"
#include "run/run_start.h"

namespace roll {

void add_job_flags(CLI::App& sub, JobFlags& flags, const InsteadOfFile& alternative) {
  add_config_flags(sub, flags.config, flags.overrides, "YAML file", alternative);
  sub.add_option("-n", flags.num_ranks, "processes; default: the devices of device_mapping, the hosts' slots, or 1")
      ->check(CLI::Range(1, 65536));
  sub.add_option("--hostfile", flags.hostfile,
                 "start the processes on the hosts in this file, one line \"name slots=N\" per host");
  sub.add_option("--mpirun-args", flags.mpirun_args,
                 "more arguments for mpirun, as in --mpirun-args=\"--mca btl_tcp_if_include eth0\"");
  auto* resume =
      sub.add_flag("--resume", flags.resume,
                   "continue the run in output_dir, or start one if there is none (resume_from_checkpoint=true)");
  sub.add_flag("--new-run", flags.new_run, "start a new run in output_dir/<date>, with a link output_dir/latest")
      ->excludes(resume);
  sub.add_flag("--allow-config-change", flags.allow_config_change,
               "resume even if the configuration differs from the checkpoint's in a way that changes the training");
  sub.add_option("--time-limit", flags.time_limit,
                 "save after this time and end with exit code 75: 90m, 23:55:00, 1-12:00:00, or seconds; Slurm's limit "
                 "is detected");
  auto* plain =
      sub.add_flag("--plain", flags.plain, "print lines, also on a terminal, instead of the full-screen view");
  sub.add_flag("--quiet", flags.quiet, "show only warnings, validations and the end; log.txt has everything")
      ->excludes(plain);
  sub.add_flag("--dry-run", flags.dry_run, "check the configuration and print the command that would start the job");
  sub.add_option("--device", flags.device, "cpu, cuda, or auto: cuda if there is a GPU")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  sub.add_option("--communicator", flags.communicator,
                 "transport between ranks: nccl between GPUs, mpi or tcp through host memory; auto: nccl if each rank "
                 "has a GPU")
      ->check(CLI::IsMember(Words<Transport>::all()))
      ->capture_default_str();
}

namespace {

constexpr double kMpirunTime_s = 30;  // for mpirun's start; started ranks wait for each other separately
constexpr double kUnwindingTime_s = 30;
constexpr double kDeadlineMargin_s = 5;  // a communicator's own timeout gives a better message than the deadline

at::Device choose_device(const std::string& name, const World& world) {
  if (name == "cpu" || (name == "auto" && !at::hasCUDA())) return at::kCPU;
  if (!at::hasCUDA()) throw user_error("--device = cuda: no CUDA device is usable here; use cpu, or check nvidia-smi");
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(world.local_rank % num_cuda_devices()));
}

/// Returns the arguments of this process, for mpirun.
std::vector<std::string> read_own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  if (!file) throw system_error("/proc/self/cmdline: cannot be read{}", errno_text());
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(file, argument, '\0');) arguments.push_back(argument);
  arguments.erase(arguments.begin());
  return arguments;
}

/// Returns a command line to print, without the values of secret keys.
std::string printable_command(std::vector<std::string> words) {
  for (std::string& word : words) word = shown_argument(word);
  return shell_line(words);
}

/// Returns the command prefixed by the environment variables that the package's launcher set (scripts/bundle/roll), so
/// that it works in any shell.
std::vector<std::string> with_launcher_variables(std::vector<std::string> command) {
  const auto names = env("ROLL_VARIABLES");
  if (!names) return command;
  std::vector<std::string> words{"env"};
  for (const std::string& name : shell_words(*names))
    if (const auto value = env(name)) words.push_back(name + "=" + *value);
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

Launch make_launch(const JobFlags& flags, const JobPlan& plan) {
  Launch launch{.num_ranks = static_cast<int>(plan.num_ranks), .hostfile = plan.hostfile};
  launch.start_limit_s = plan.timeout_s + kMpirunTime_s;
  launch.max_restarts = static_cast<int>(plan.max_restarts);
  try {
    launch.mpirun_args = shell_words(flags.mpirun_args);
  } catch (const UserError& error) {
    throw user_error("--mpirun-args = {}: {}", flags.mpirun_args, error.what());
  }
  if (flags.time_limit) parse_time_limit(*flags.time_limit, "--time-limit");
  launch.args = read_own_arguments();
  std::erase(launch.args, "--dry-run");
  return launch;
}

std::string deadline_line(const World& world, const JobPlan& plan, const char* where) {
  return waited_line(world.rank, world.size, fmt::format("{}: waited {}", where, duration_text(plan.timeout_s)));
}

/// Writes to standard output without the stream's buffer, which would split a frame.
void write_to_terminal(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR && errno != EAGAIN) return;  // the terminal is gone
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(0, written)));
  }
}

/// A log view that shows nothing.
struct NoView : LogView {
  void show(std::string_view, LineKind) override {}
  void show_status(std::string_view) override {}
};

/// Writes the error that ends the process to log.txt only: main() or the launcher prints it.
void log_to_file_only(const std::string& line, Log& log) {
  NoView no_view;
  log.show_on(&no_view);
  if (!line.empty()) log.say("{}", line);
  log.show_on(nullptr);
}

void run_rank(const JobFlags& flags, const JobPlan& plan, const std::function<void(const Job&)>& work) {
  const World world = detect_world();
  set_threads_per_rank(world);
  const at::Device device = choose_device(flags.device, world);
  use_device(device);
  std::optional<Deadline> limit;
  limit.emplace(plan.timeout_s + kDeadlineMargin_s, deadline_line(world, plan, "start"), 1);
  auto ranks =
      make_communicator({.kind = named<Transport>(flags.communicator), .device = device, .timeout_s = plan.timeout_s});
  limit.reset();
  if (ranks->is_first()) report_start();
  std::optional<RunScreen> screen;  // must outlive the log, which writes to it
  if (ranks->is_first() && !flags.plain && !flags.quiet && has_room(describe_terminal(STDOUT_FILENO)))
    screen.emplace(ScreenOptions{.write = write_to_terminal,
                                 .terminal = [] { return describe_terminal(STDOUT_FILENO); },
                                 .in_colour = env("NO_COLOR").value_or("").empty()});
  Log log(std::cout, std::cerr,
          {.rank = ranks->rank(),
           .num_ranks = ranks->size(),
           .terminal = describe_terminal(STDOUT_FILENO),
           .quiet = flags.quiet});
  const std::string ranks_text =
      ranks->size() > 1 ? fmt::format("{} ranks over {}, each with ", ranks->size(), ranks->kind()) : "";
  log.info("run: {}; {}{}", plan.name, ranks_text, threads_text());
  if (device.is_cuda() && ranks->size() > 1 && ranks->kind() != "nccl")
    log.note("note: data between ranks goes through host memory{}",
             flags.communicator == "auto" ? ", because ranks share a GPU, which NCCL does not support" : "");
  for (const auto& note : plan.notes) log.note("note: {}", note);
  if (plan.max_restarts > 0 && !has_supervisor())
    log.note(
        "note: max_restarts = {}: has no effect here, because another launcher started the ranks and only it could "
        "restart them",
        plan.max_restarts);
  try {
    work({*ranks, log, device, screen ? &*screen : nullptr});
  } catch (const std::exception& error) {
    const std::string line = error_line(error);
    log_to_file_only(line, log);
    end_within(kUnwindingTime_s, line, exit_code_for(error));  // unwinding may wait for a lost rank
    throw;
  }
  limit.emplace(plan.timeout_s, deadline_line(world, plan, "end"), 1);
  ranks.reset();
}

}  // namespace

std::vector<std::string> list_overrides(const JobFlags& flags) {
  std::vector<std::string> overrides = flags.overrides;
  if (flags.resume) overrides.emplace_back("resume_from_checkpoint=true");
  return overrides;
}

RunFlags run_flags(const JobFlags& flags, const std::optional<RoleShapes>& models, RunScreen* screen) {
  std::vector<std::string> words = read_own_arguments();
  std::erase(words, "--new-run");
  words.insert(words.begin(), "roll");
  if (!flags.resume) words.emplace_back("--resume");
  return {.new_run = flags.new_run,
          .allow_config_change = flags.allow_config_change,
          .resume_command = printable_command(words),
          .version = fmt::format("roll {}, {}", version_with_commit(), fmt::join(version_lines(), ", ")),
          .is_long = models && policy_shape(*models).rope.is_long,
          .screen = screen};
}

LoadOptions load_options(const JobFlags& flags) {
  const World world = detect_world();
  LoadOptions options{.num_ranks = flags.num_ranks, .hostfile = flags.hostfile};
  options.is_started = world.launcher != Launcher::kNone;
  if (options.is_started && !flags.num_ranks) options.num_ranks = world.size;
  return options;
}

void run_job(const JobFlags& flags, const JobPlan& plan, const std::function<void(const Job&)>& work) {
  // Set system_envs before anything reads them. Local ranks inherit them; ranks on other hosts run this code too.
  for (const auto& [name, value] : plan.environment) {
    Secret secret;
    try {
      from_config_text(value, secret);
    } catch (const UserError& e) {
      throw user_error("system_envs.{} = {}: {}", name, value, e.what());
    }
    set_env(name, value);
  }
  if (flags.new_run) name_new_run();
  const Launch launch = make_launch(flags, plan);
  if (flags.dry_run) {
    std::printf("%s\n", printable_command(with_launcher_variables(launch_command(launch))).c_str());
    return;
  }
  const std::optional<double> limit = time_limit(flags.time_limit);
  if (const auto exit_code = run_ranks(launch)) {
    ignore_stop_signals();
    // The ranks have printed their errors; only the exit code is passed on.
    if (*exit_code != 0) throw AnotherRankFailed(0, *exit_code);
    return;
  }
  catch_stop_signals();
  std::signal(SIGPIPE, SIG_IGN);  // a run continues if its output is closed; log.txt has all lines
  if (limit) stop_at(*limit);
  run_rank(flags, plan, work);
}

}  // namespace roll
