// MPI moves the bytes; every wait is ours (non-blocking calls and a test loop), so that it ends in time and by signal.
#define OMPI_SKIP_MPICXX 1  // its old C++ bindings do not compile without warnings
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "transport/wire.h"

namespace roll {

namespace {

constexpr int kFirstTag = 7;

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

  std::mutex mutex;  // MPI_THREAD_SERIALIZED: one call at a time
  std::atomic<bool> broken = false;
  int next_tag = kFirstTag + 1;

 private:
  int num_exceptions_;
};

std::vector<int> all_of_world() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> ranks(static_cast<size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// A channel is a tag: messages of one tag between two ranks keep their order, and never meet those of another.
class MpiWire : public Wire {
 public:
  /// `members`: ranks of the world, this process among them.
  MpiWire(std::shared_ptr<MpiSession> session, std::vector<int> members, int tag)
      : session_(std::move(session)), members_(std::move(members)), tag_(tag) {
    int own = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    rank_ = static_cast<int>(std::find(members_.begin(), members_.end(), own) - members_.begin());
  }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  int in_world(int member) const override { return members_.at(static_cast<size_t>(member)); }
  std::string_view kind() const override { return "mpi"; }

  std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) override {
    std::vector<int> processes;
    for (const int member : members) processes.push_back(in_world(member));
    Wait wait({in_world(rank_), size(), -1}, "start of a group over mpi", timeout_s);
    const int tag = free_tag(members, wait);
    session_->next_tag = tag + 1;
    return std::make_unique<MpiWire>(session_, std::move(processes), tag);
  }

  void abandon() override { session_->broken = true; }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Wait& wait) override {
    if (session_->broken) throw system_error("{}: an earlier collective of this rank failed", wait.where());
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
  /// One that none of the members uses: processes are in different groups, so they have used up different tags.
  int free_tag(const std::vector<int>& members, Wait& wait) {
    int tag = session_->next_tag;
    const auto bytes_of = [](int& number) { return std::as_writable_bytes(std::span(&number, 1)); };
    if (rank_ != members.front()) {
      exchange(std::array{Outgoing{members.front(), bytes_of(tag)}}, {}, wait);
      exchange({}, std::array{Incoming{members.front(), bytes_of(tag)}}, wait);
      return tag;
    }
    std::vector<int> tags(members.size(), tag);
    std::vector<Incoming> in;
    std::vector<Outgoing> out;
    for (size_t i = 1; i < members.size(); ++i) {
      in.push_back({members[i], bytes_of(tags[i])});
      out.push_back({members[i], bytes_of(tag)});
    }
    exchange({}, in, wait);
    tag = std::ranges::max(tags);
    exchange(out, {}, wait);
    return tag;
  }

  void post(std::span<const Outgoing> out, std::span<const Incoming> in, const Wait& wait,
            std::vector<MPI_Request>& requests, std::vector<int>& peers) {
    const std::scoped_lock lock(session_->mutex);
    for (const Incoming& from : in) {
      peers.push_back(in_world(from.rank));
      check_mpi(MPI_Irecv(from.bytes.data(), static_cast<int>(from.bytes.size()), MPI_BYTE, peers.back(), tag_,
                          MPI_COMM_WORLD, &requests.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Irecv", wait.where());
    }
    for (const Outgoing& to : out) {
      peers.push_back(in_world(to.rank));
      check_mpi(MPI_Isend(to.bytes.data(), static_cast<int>(to.bytes.size()), MPI_BYTE, peers.back(), tag_,
                          MPI_COMM_WORLD, &requests.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Isend", wait.where());
    }
  }

  void finish(std::vector<MPI_Request>& requests, const std::vector<int>& peers, Wait& wait) {
    while (!all_done(requests, wait)) {
      wait.pause([&] { return late_ranks(requests, peers); });
      if (session_->broken) throw system_error("{}: given up, because this rank failed elsewhere", wait.where());
    }
  }

  bool all_done(std::vector<MPI_Request>& requests, const Wait& wait) {
    const std::scoped_lock lock(session_->mutex);
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall", wait.where());
    return done != 0;
  }

  std::vector<int> late_ranks(std::vector<MPI_Request>& requests, const std::vector<int>& peers) {
    const std::scoped_lock lock(session_->mutex);
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
    const std::scoped_lock lock(session_->mutex);
    session_->broken = true;
    for (MPI_Request& request : requests) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }

  std::shared_ptr<MpiSession> session_;
  std::vector<int> members_;
  int tag_;
  int rank_ = 0;
};

}  // namespace

std::unique_ptr<Wire> make_mpi_wire() {
  auto session = std::make_shared<MpiSession>();
  return std::make_unique<MpiWire>(std::move(session), all_of_world(), kFirstTag);
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
