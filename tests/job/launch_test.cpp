// Whole jobs: the driver of ranks_main.cpp starts itself under mpirun, or is started with torchrun's variables.
#include "job/launch.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "dist/local_ranks.h"

using namespace roll;

namespace {

/// A started driver, its output (both streams) in a file.
class Job {
 public:
  explicit Job(std::vector<std::string> args, std::vector<std::string> variables = {}) {
    static int number = 0;
    name_ = fmt::format("roll_test_job_{}_{}", ::getpid(), number++);
    output_ = std::filesystem::temp_directory_path() / name_;
    variables.push_back(mark());
    pid_ = ::fork();
    if (pid_ == 0) become(args, variables);
  }
  ~Job() { std::filesystem::remove(output_); }

  std::string output() const { return std::filesystem::exists(output_) ? read_file(output_) : ""; }
  void send(int signal) const { ::kill(pid_, signal); }
  /// To the job's processes of that name.
  void send_to(const std::string& program, int signal) const {
    for (const auto& process : processes())
      if (read_file(process / "comm") == program + "\n") ::kill(std::stoi(process.filename()), signal);
  }
  /// Waits until the output holds `text`.
  bool shows(const std::string& text) const {
    for (int i = 0; i < 600 && output().find(text) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return output().find(text) != std::string::npos;
  }
  int exit_code() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  /// All processes of the job are gone a moment after its end. All have the job's mark in their environment; those
  /// that are dead and not reaped have none.
  bool leaves_nothing_behind() const {
    for (int i = 0; i < 100; ++i) {
      if (processes().empty()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

 private:
  std::string mark() const { return fmt::format("ROLL_TEST_JOB={}", name_); }
  std::vector<std::filesystem::path> processes() const {
    std::vector<std::filesystem::path> found;
    for (const auto& process : std::filesystem::directory_iterator("/proc")) {
      std::ifstream file(process.path() / "environ");  // no process, or another user's: nothing to read
      std::string environment;
      std::getline(file, environment);  // fails quietly if the process ends meanwhile
      if (environment.find(mark()) != std::string::npos) found.push_back(process);
    }
    return found;
  }
  void become(const std::vector<std::string>& args, const std::vector<std::string>& variables) const {
    const int file = ::open(output_.c_str(), O_CREAT | O_WRONLY | O_APPEND, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    std::vector<std::string> words = {"env"};
    words.insert(words.end(), variables.begin(), variables.end());
    words.emplace_back(ROLL_DIST_RANKS);
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    ::execvp("env", pointers.data());
    ::_exit(126);
  }

  std::string name_;
  std::filesystem::path output_;
  pid_t pid_;
};

int64_t count(const std::string& text, const std::string& part) {
  int64_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

/// A folder whose mpirun is this shell script, in front of PATH.
class FakeMpirun {
 public:
  explicit FakeMpirun(const std::string& script) {
    std::filesystem::create_directory(folder_);
    write_file_atomic(folder_ / "mpirun", fmt::format("#!/bin/sh\n{}\n", script));
    std::filesystem::permissions(folder_ / "mpirun", std::filesystem::perms::owner_all);
  }
  ~FakeMpirun() { std::filesystem::remove_all(folder_); }
  std::string path() const { return fmt::format("PATH={}:/usr/bin:/bin", folder_.string()); }

 private:
  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / fmt::format("roll_test_fake_{}", ::getpid());
};

std::vector<std::string> torchrun_variables(int rank, int size, int port) {
  return {fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", size), "MASTER_ADDR=127.0.0.1",
          fmt::format("MASTER_PORT={}", port)};
}

}  // namespace

TEST_CASE("-n 2 starts two ranks under mpirun that add up, each with its share of the cores", "[dist]") {
  const Job job({"2", "sum"});
  CHECK(job.exit_code() == 0);
  CHECK_THAT(job.output(), Catch::Contains("rank 0 of 2: sum 3 over mpi, threads 1, terminal 0"));
  CHECK_THAT(job.output(), Catch::Contains("rank 1 of 2: sum 3 over mpi"));
}

TEST_CASE("-n 1 needs no mpirun", "[dist]") {
  const Job job({"1", "sum"}, {"PATH=/nowhere"});
  CHECK(job.exit_code() == 0);
  CHECK_THAT(job.output(), Catch::Contains("rank 0 of 1: sum 1 over single"));
}

TEST_CASE("a missing mpirun is a sentence", "[dist]") {
  const Job job({"2", "sum"}, {"PATH=/nowhere"});
  CHECK(job.exit_code() == 1);
  CHECK_THAT(job.output(), Catch::Contains("roll: mpirun: not found or not executable; install Open MPI"));
}

TEST_CASE("a rank that throws ends the ranks that wait for it, with its exit code", "[dist]") {
  const Job job({"2", "throw"});
  CHECK(job.exit_code() == 2);
  CHECK_THAT(job.output(), Catch::Contains("roll: [rank 1] data.jsonl:3: bad row"));
  CHECK(count(job.output(), "roll: ") == 1);  // and nothing of a collective's time limit
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("of two ranks that fail a check only the lower one speaks", "[dist]") {
  const Job job({"3", "disagree"});
  CHECK(job.exit_code() == 2);
  CHECK_THAT(job.output(),
             Catch::Contains("roll: [rank 1] rank 1 saw a bad file") || Catch::Contains("roll: rank 1 saw"));
  CHECK(count(job.output(), "saw a bad file") == 1);
}

TEST_CASE("a crashed rank ends the job and is named by its signal", "[dist]") {
  const Job job({"2", "crash"});
  CHECK(job.exit_code() == 1);
  CHECK_THAT(job.output(), Catch::Contains("roll: rank 1 on host ") &&
                               Catch::Contains(" was killed by signal 11 (Segmentation fault)"));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("a rank that does not come ends the job in time and is named with the step", "[dist]") {
  const Job job({"2", "late"});
  CHECK(job.exit_code() == 1);
  CHECK_THAT(job.output(),
             Catch::Contains("step 12: all-gather of bytes 'gradients': waited 1.0 s and nothing came from rank 1"));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("nine ranks, over MPI's own collectives, find out who is late, who is elsewhere and who was killed",
          "[dist]") {
  {
    const Job job({"9", "late"});
    CHECK(job.exit_code() == 1);
    CHECK_THAT(job.output(),
               Catch::Contains("step 12: all-gather of bytes 'gradients': waited 1.0 s and nothing came from rank 1;"));
    CHECK(job.leaves_nothing_behind());
  }
  {
    const Job job({"9", "killed"});
    CHECK(job.exit_code() == 1);
    CHECK_THAT(job.output(), Catch::Contains("roll: rank 8 on host ") && Catch::Contains(" was killed by signal 9"));
    CHECK(job.leaves_nothing_behind());
  }
  const Job job({"9", "diverge"});
  CHECK(job.exit_code() == 70);
  CHECK_THAT(job.output(),
             Catch::Contains("internal error") && Catch::Contains("'step end'") && Catch::Contains("'counts'"));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("a rank that waits in another group's collective is late, those that are further are not", "[dist]") {
  const Job job({"9", "elsewhere"});
  CHECK(job.exit_code() == 1);
  // Rank 1 waits for the others in a group of all, and the others wait for it in the world.
  CHECK_THAT(
      job.output(),
      Catch::Contains("'gradients': waited 1.0 s and nothing came from rank 1;") ||
          Catch::Contains("'news' of its all group: waited 1.0 s and nothing came from rank 0, 2, 3, 4, 5, 6, 7, 8;"));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("a collective that is given up while MPI still works on it does no harm to the job's end", "[dist]") {
  const Job job({"9", "give-up"});
  CHECK(job.exit_code() == 1);
  CHECK_THAT(job.output(), Catch::Contains("'bucket' of its shards group: given up, because this rank failed"));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("more ranks than sockets are for are refused at the start", "[dist]") {
  const Job job({"129", "sum"}, torchrun_variables(5, 129, test::free_port()));
  CHECK(job.exit_code() == 2);
  CHECK_THAT(job.output(), Catch::Contains("at most 128 ranks may start like this; start them with mpirun"));
}

TEST_CASE("an mpirun that does not end after a failure is ended, with what it started", "[dist]") {
  const FakeMpirun mpirun("trap '' TERM; echo 'roll: rank 0 of 2: no answer' >&2; setsid sleep 100 & sleep 100");
  const Job job({"2", "sum"}, {mpirun.path()});
  CHECK(job.exit_code() == 1);
  // Between the two, the shell may tell how its own child was ended.
  const size_t failure = job.output().find("roll: rank 0 of 2: no answer\n");
  const size_t ended = job.output().find("\nroll: mpirun did not end after the failure");
  CHECK((failure != std::string::npos && ended != std::string::npos && failure < ended));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("ranks that never start are not waited for for ever", "[dist]") {
  const FakeMpirun mpirun("exec sleep 100");
  const Job job({"2", "sum"}, {mpirun.path(), "ROLL_TEST_START=1"});
  CHECK(job.exit_code() == 1);
  CHECK_THAT(job.output(), Catch::StartsWith("roll: mpirun: the ranks did not all start in time"));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("a killed mpirun is not taken for a killed rank", "[dist]") {
  const FakeMpirun mpirun("kill -9 $$");
  const Job job({"2", "sum"}, {mpirun.path()});
  CHECK(job.exit_code() == 1);
  CHECK_THAT(job.output(), Catch::Contains("roll: mpirun was killed by signal 9 (Killed)"));
}

TEST_CASE("a rank that waits where no limit reaches it has a deadline", "[dist]") {
  const Job job({"2", "deadline"});
  CHECK(job.exit_code() == 3);
  CHECK_THAT(job.output(), Catch::Contains("rank 0 of 2: sum 3") && Catch::Contains("roll: rank 1 waits no longer"));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("a destructor that hangs after an error does not keep a rank", "[dist]") {
  const int port = test::free_port();
  const Job first({"2", "hang-at-exit"}, torchrun_variables(0, 2, port));
  const Job second({"2", "hang-at-exit"}, torchrun_variables(1, 2, port));
  CHECK(second.exit_code() == 2);
  CHECK_THAT(second.output(), Catch::Contains("roll: [rank 1] data.jsonl:3: bad row"));
  CHECK(first.exit_code() == 1);
}

TEST_CASE("ranks that diverge are a bug with both calls named", "[dist]") {
  const Job job({"2", "diverge"});
  CHECK(job.exit_code() == 70);
  CHECK_THAT(job.output(),
             Catch::Contains("internal error") && Catch::Contains("'step end'") && Catch::Contains("'counts'"));
}

TEST_CASE("Ctrl-C and SIGTERM let all ranks leave in order, and are said once", "[dist]") {
  for (const auto& [signal, code, name] :
       {std::tuple{SIGINT, 130, "Ctrl-C (SIGINT)"}, std::tuple{SIGTERM, 143, "SIGTERM"}}) {
    const Job job({"2", "stop"});
    REQUIRE(job.shows("working"));
    job.send(signal);
    CHECK(job.exit_code() == code);
    CHECK(count(job.output(), "leaves in order") == 2);
    CHECK(count(job.output(), fmt::format("roll: stopped by {}", name)) == 1);
    CHECK(job.leaves_nothing_behind());
  }
}

TEST_CASE("an end that is asked for twice comes at once, whatever the ranks do, and in one line", "[dist]") {
  const auto [signal, code] = GENERATE(std::pair{SIGINT, 130}, std::pair{SIGTERM, 143});
  const Job job({"2", "stop-waiting"});
  REQUIRE(job.shows("working"));
  job.send(signal);
  std::this_thread::sleep_for(std::chrono::seconds(1));  // two signals of a kind that wait together are one
  job.send(signal);
  CHECK(job.exit_code() == code);
  CHECK_THAT(job.output(),
             Catch::Contains("working\nroll: stopped by ") && Catch::EndsWith("last checkpoint is kept\n"));
  CHECK(count(job.output(), "\n") == 2);
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("SIGUSR1 lets all ranks leave in order, with a code of its own; SIGTERM may follow it", "[dist]") {
  const bool urged = GENERATE(false, true);
  const Job job({"2", urged ? "stop-slowly" : "stop"});
  REQUIRE(job.shows("working"));
  job.send(SIGUSR1);
  if (urged) std::this_thread::sleep_for(std::chrono::seconds(1)), job.send(SIGTERM);
  CHECK(job.exit_code() == 75);
  CHECK(count(job.output(), "leaves in order") == 2);
  CHECK(count(job.output(), "roll: stopped by SIGUSR1") == 1);
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("ranks that do not listen yet are stopped by the first signal", "[dist]") {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGUSR1, 75}}) {
    const Job job({"2", "deaf"});
    REQUIRE(job.shows("working"));
    job.send(signal);
    CHECK(job.exit_code() == code);
    CHECK(count(job.output(), "roll: stopped by ") == 1);
    CHECK(job.leaves_nothing_behind());
  }
}

TEST_CASE("a job whose rank dies is started again, and knows why", "[dist]") {
  const auto [ranks, rank] = GENERATE(std::pair{"2", 1}, std::pair{"1", 0});
  const Job job({ranks, "crash"}, {"ROLL_TEST_RESTARTS=2"});
  CHECK(job.exit_code() == 1);
  const std::string killed = fmt::format("rank {} on host ", rank);
  CHECK_THAT(job.output(), Catch::Contains("roll: restart 1 of 2: " + killed) &&
                               Catch::Contains("roll: restart 2 of 2: " + killed) &&
                               Catch::Contains(fmt::format("rank 0 of {}: restart 2 of 2: ", ranks) + killed));
  CHECK(count(job.output(), "roll: " + killed) == 1);  // the last one
  CHECK(count(job.output(), "; working again after ") == 2);
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("neither the user's mistakes nor a stop nor ranks that never were there are tried again", "[dist]") {
  const Job wrong({"2", "throw"}, {"ROLL_TEST_RESTARTS=2"});
  CHECK(wrong.exit_code() == 2);
  CHECK(count(wrong.output(), "restart") == 0);
  const Job stopped({"1", "stop"}, {"ROLL_TEST_RESTARTS=2"});
  REQUIRE(stopped.shows("working"));
  stopped.send(SIGTERM);
  CHECK(stopped.exit_code() == 143);
  CHECK(count(stopped.output(), "restart") == 0);
  const Job missing({"2", "sum"}, {"ROLL_TEST_RESTARTS=2", "PATH=/nowhere"});
  CHECK(missing.exit_code() == 1);
  CHECK(count(missing.output(), "restart") == 0);
}

TEST_CASE("a killed mpirun leaves no rank behind", "[dist]") {
  const Job job({"2", "stop-waiting"});
  REQUIRE(job.shows("working"));
  job.send_to("mpirun", SIGKILL);
  CHECK(job.exit_code() == 1);
  CHECK_THAT(job.output(), Catch::Contains("roll: mpirun was killed by signal 9 (Killed)"));
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("when the supervisor is killed, the ranks end", "[dist]") {
  const std::string ranks = GENERATE("1", "2");
  const Job job({ranks, "stop-waiting"}, {"ROLL_TEST_RESTARTS=1"});
  REQUIRE(job.shows("working"));
  job.send(SIGKILL);
  CHECK(job.exit_code() == 128 + SIGKILL);
  CHECK(job.leaves_nothing_behind());
}

TEST_CASE("ranks started with torchrun's variables find each other, in any order", "[dist]") {
  const int port = test::free_port();
  const Job last({"3", "sum"}, torchrun_variables(2, 3, port));
  const Job middle({"3", "sum"}, torchrun_variables(1, 3, port));
  const Job first({"3", "sum"}, torchrun_variables(0, 3, port));
  for (const Job* job : {&first, &middle, &last}) CHECK(job->exit_code() == 0);
  CHECK_THAT(first.output(), Catch::Contains("rank 0 of 3: sum 6 over tcp"));
  CHECK_THAT(last.output(), Catch::Contains("rank 2 of 3: sum 6 over tcp"));
}

TEST_CASE("without mpirun a rank that throws still ends the others", "[dist]") {
  const int port = test::free_port();
  const Job first({"2", "throw"}, torchrun_variables(0, 2, port));
  const Job second({"2", "throw"}, torchrun_variables(1, 2, port));
  CHECK(second.exit_code() == 2);
  CHECK(first.exit_code() == 1);
  CHECK_THAT(first.output(), Catch::Contains("rank 1 is gone"));
}

TEST_CASE("another number of ranks than the launcher's is refused", "[dist]") {
  const Job job({"2", "sum"}, torchrun_variables(0, 3, 29500));
  CHECK(job.exit_code() == 2);
  CHECK_THAT(job.output(), Catch::Contains("-n = 2: 3 processes were started (WORLD_SIZE = 3); drop -n"));
}

TEST_CASE("the versions of all that is linked are told", "[dist]") {
  const std::vector<std::string> lines = version_lines();
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], Catch::StartsWith("LibTorch 2."));
  CHECK_THAT(lines[1], Catch::StartsWith("CUDA "));
  CHECK_THAT(lines[2], Catch::StartsWith("NCCL "));
  CHECK_THAT(lines[3], Catch::StartsWith("MPI "));
}
