#include "transport/mpi_session.h"

#include <unistd.h>

#include <array>
#include <exception>

#include "base/clock.h"
#include "base/error.h"
#include "transport/wire.h"

namespace roll {

namespace {

constexpr double kAnswerLimit_s = 3;  // a waiting process polls every millisecond, more rarely on a busy host
constexpr useconds_t kPollInterval_us = 500;

}  // namespace

void check_mpi(int code, std::string_view call, std::string_view where) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw system_error("{}: {} failed: {}", where, call, text.data());
}

std::shared_ptr<MpiSession> MpiSession::hold() {
  static std::weak_ptr<MpiSession> current;
  std::shared_ptr<MpiSession> session = current.lock();
  if (!session) current = session = std::shared_ptr<MpiSession>(new MpiSession());
  return session;
}

MpiSession::MpiSession() : num_exceptions_(std::uncaught_exceptions()) {
  int begun = 0, level = 0;
  MPI_Initialized(&begun);
  if (begun) throw system_error("start: MPI was initialized before, and a process can initialize it only once");
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread", "start");
  if (level < MPI_THREAD_SERIALIZED)
    throw system_error("start: this MPI library does not support threads (level {})", level);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);  // groups inherit it
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() == num_exceptions_ && !broken_) MPI_Finalize();
}

void MpiSession::check_whole(const Wait& wait) const {
  if (broken_) throw system_error("{}: an earlier collective of this rank failed", wait.where());
}

void MpiSession::arrive(int channel) {
  const std::scoped_lock lock(mutex);
  roll_call_.arrive(channel);
}

bool MpiSession::all_done(std::vector<MPI_Request>& requests, const Wait& wait) {
  int done = 0;
  call("MPI_Testall", wait, [&] {
    if (wait.is_long()) roll_call_.listen();
    return MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
  });
  return done != 0;
}

void MpiSession::finish(std::vector<MPI_Request>& requests, Wait& wait, const std::function<std::vector<int>()>& late) {
  while (!all_done(requests, wait)) {
    wait.pause(late);
    if (broken_) throw system_error("{}: given up, because this rank failed elsewhere", wait.where());
  }
}

std::vector<int> MpiSession::call_roll(const std::vector<int>& members, int channel) {
  const Stopwatch since;
  std::unique_lock lock(mutex);
  roll_call_.ask(members, channel);
  std::vector<int> absent = roll_call_.absent(members, channel);
  while (!absent.empty() && since.seconds() < kAnswerLimit_s) {
    lock.unlock();
    ::usleep(kPollInterval_us);
    lock.lock();
    roll_call_.listen();
    absent = roll_call_.absent(members, channel);
  }
  return absent;
}

void MpiSession::keep(std::shared_ptr<const void> buffers) {
  static auto& kept = *new std::vector<std::shared_ptr<const void>>();  // never destroyed
  const std::scoped_lock lock(mutex);
  kept.push_back(std::move(buffers));
}

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string version(text.data());
  return version.substr(0, version.find_first_of(",\n"));
}

bool mpi_is_running() {
  int begun = 0, ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  return begun && !ended;
}

void mpi_abort(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
}

}  // namespace roll
