// MPI moves the bytes; every wait is ours (non-blocking calls and a test loop), so that it ends in time and by signal.
#define OMPI_SKIP_MPICXX 1  // its old C++ bindings do not compile without warnings
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <exception>

#include "base/error.h"
#include "dist/wire.h"

namespace roll {

namespace {

constexpr int kTag = 7;

void check_mpi(int code, std::string_view call, std::string_view where) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw system_error("{}: {} failed: {}", where, call, text.data());
}

/// Begins MPI; ends it only when all went well: during an error the other ranks will not meet us in MPI_Finalize.
class MpiSession {
 public:
  MpiSession() : num_exceptions_(std::uncaught_exceptions()) {
    int begun = 0, level = 0;
    MPI_Initialized(&begun);
    if (begun) throw system_error("start: MPI has begun before; one communicator over it per process");
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread", "start");
    if (level < MPI_THREAD_SERIALIZED) throw system_error("start: this MPI has no thread support (level {})", level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ~MpiSession() {
    if (std::uncaught_exceptions() == num_exceptions_ && !broken) MPI_Finalize();
  }
  MpiSession(const MpiSession&) = delete;
  MpiSession& operator=(const MpiSession&) = delete;

  bool broken = false;

 private:
  int num_exceptions_;
};

class MpiWire : public Wire {
 public:
  MpiWire() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view kind() const override { return "mpi"; }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Wait& wait) override {
    if (session_.broken) throw system_error("{}: an earlier collective of this rank failed", wait.where());
    std::vector<MPI_Request> requests;
    std::vector<int> peers;
    try {
      post(out, in, wait, requests, peers);
      finish(requests, peers, wait);
    } catch (...) {
      give_up(requests);
      throw;
    }
  }

 private:
  static void post(std::span<const Outgoing> out, std::span<const Incoming> in, const Wait& wait,
                   std::vector<MPI_Request>& requests, std::vector<int>& peers) {
    for (const Incoming& from : in) {
      peers.push_back(from.rank);
      check_mpi(MPI_Irecv(from.bytes.data(), static_cast<int>(from.bytes.size()), MPI_BYTE, from.rank, kTag,
                          MPI_COMM_WORLD, &requests.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Irecv", wait.where());
    }
    for (const Outgoing& to : out) {
      peers.push_back(to.rank);
      check_mpi(MPI_Isend(to.bytes.data(), static_cast<int>(to.bytes.size()), MPI_BYTE, to.rank, kTag, MPI_COMM_WORLD,
                          &requests.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Isend", wait.where());
    }
  }

  static void finish(std::vector<MPI_Request>& requests, const std::vector<int>& peers, Wait& wait) {
    for (int done = 0; true;) {
      check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
                "MPI_Testall", wait.where());
      if (done) return;
      wait.pause([&] { return late_ranks(requests, peers); });
    }
  }

  static std::vector<int> late_ranks(std::vector<MPI_Request>& requests, const std::vector<int>& peers) {
    std::vector<int> late;
    for (size_t i = 0; i < requests.size(); ++i) {
      int done = 0;
      if (requests[i] != MPI_REQUEST_NULL) MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
      if (!done && std::find(late.begin(), late.end(), peers[i]) == late.end()) late.push_back(peers[i]);
    }
    return late;
  }

  /// The buffers of a broken exchange are about to go: MPI must forget them.
  void give_up(std::vector<MPI_Request>& requests) {
    session_.broken = true;
    for (MPI_Request& request : requests) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }

  MpiSession session_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::unique_ptr<Wire> make_mpi_wire() {
  return std::make_unique<MpiWire>();
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
