#include "dist/thread_ranks.h"

#include <ATen/ATen.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "dist/combine.h"
#include "dist/immediate.h"
#include "dist/single.h"

namespace roll {

namespace {

/// State shared by all ranks. In turn, the working rank holds the mutex; together, ranks hold it only in collectives.
struct Turns {
  ThreadPace pace = ThreadPace::kInTurn;
  std::mutex mutex;
  std::condition_variable changed;
  int num_alive = 0, num_waiting = 0;
  std::exception_ptr error;  // the first rank's error

  /// Records the current exception; call it in a handler, under the mutex.
  void fail() {
    if (!error) error = std::current_exception();
    changed.notify_all();
  }
};

/// Holds a rank's lock, and restores its state at the end.
class Locked {
 public:
  explicit Locked(std::unique_lock<std::mutex>& turn) : turn_(turn), was_held_(turn.owns_lock()) {
    if (!was_held_) turn_.lock();
  }
  ~Locked() {
    if (!was_held_) turn_.unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::unique_lock<std::mutex>& turn_;
  bool was_held_;
};

struct Group;

/// A rank's contribution to a collective.
struct Given {
  std::string call;  // equal on all ranks
  std::vector<at::Tensor> tensors{};
  std::string_view bytes{};
  std::shared_ptr<Group> group{};
};

struct Group {
  std::vector<const Given*> given;  // by rank
  int num_here = 0;
  int64_t round = 0;
};

class ThreadCommunicator : public ImmediateCommunicator {
 public:
  /// `turn`: the lock of this rank's thread on turns.mutex.
  ThreadCommunicator(Turns& turns, std::unique_lock<std::mutex>& turn, std::shared_ptr<Group> group, Membership own)
      : ImmediateCommunicator(std::move(own)), turns_(turns), turn_(turn), group_(std::move(group)) {}

  std::string_view kind() const override { return "threads"; }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    Membership own = membership_in(members, group);
    const auto fresh = std::make_shared<Group>(Group{.given = std::vector<const Given*>(members.size())});
    std::shared_ptr<Group> shared;
    meet({.call = "split", .group = fresh}, [&](const auto& given) { shared = given[members.front()]->group; });
    if (members.size() == 1) return make_single_communicator(std::move(own));
    return std::make_unique<ThreadCommunicator>(turns_, turn_, std::move(shared), std::move(own));
  }

  std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) override {
    std::vector<std::string> all;
    meet({.call = fmt::format("gather '{}'", name), .bytes = local}, [&](const auto& given) {
      for (const Given* of_rank : given) all.emplace_back(of_rank->bytes);
    });
    return all;
  }
  std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) override {
    std::vector<std::string> all = all_gather_bytes(local, name);
    return is_first() ? std::move(all) : std::vector<std::string>();
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) override {
    at::Tensor total = at::empty_like(tensor);
    meet(call_of("reduce", static_cast<int>(op), tensor, name),
         [&](const auto& given) { combine(parts_of(given, [](const at::Tensor& t) { return t; }), op, total); });
    tensor.copy_(total);
  }
  void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) override {
    meet(call_of("broadcast", root, tensor, name), [&](const auto& given) {
      if (rank() != root) tensor.copy_(given[root]->tensors[0]);
    });
  }
  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) override {
    const at::Tensor rows = all.view({size(), -1});
    meet(call_of("gather", 0, tensor, name), [&](const auto& given) {
      for (int peer = 0; peer < size(); ++peer)
        if (at::Tensor row = rows[peer]; row.data_ptr() != given[peer]->tensors[0].data_ptr())
          row.copy_(given[peer]->tensors[0].view({-1}));
    });
  }
  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view name) override {
    at::Tensor total = at::empty({local.numel()}, local.options());
    const auto own_row = [this](const at::Tensor& rows) { return rows.view({size(), -1})[rank()]; };
    meet(call_of("reduce-scatter", 0, all, name),
         [&](const auto& given) { combine(parts_of(given, own_row), Reduce::kSum, total); });
    local.view({-1}).copy_(total);
  }
  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view name) override {
    meet({.call = fmt::format("exchange '{}'", name), .tensors = out}, [&](const auto& given) {
      for (int peer = 0; peer < size(); ++peer) {
        if (peer == rank()) continue;
        const at::Tensor& sent = given[peer]->tensors[rank()];
        ROLL_CHECK_EQ(sent.nbytes(), in[peer].nbytes(), "a rank is sent what it expects");
        if (sent.numel() > 0) at::Tensor(in[peer]).copy_(sent);
      }
    });
  }

 private:
  static Given call_of(const char* what, int detail, const at::Tensor& tensor, std::string_view name) {
    return {.call = fmt::format("{} {} '{}' of {} {}", what, detail, name, tensor.numel(),
                                c10::toString(tensor.scalar_type())),
            .tensors = {tensor}};
  }

  /// Returns copies of the ranks' parts, which may be overwritten.
  template <class Part>
  static std::vector<at::Tensor> parts_of(const std::vector<const Given*>& given, const Part& part) {
    std::vector<at::Tensor> parts;
    for (const Given* of_rank : given) parts.push_back(part(of_rank->tensors[0]).clone());
    return parts;
  }

  /// Calls `read` with the contributions of all ranks of the group, which must not change before this returns. A rank
  /// that throws marks the error first, so that nobody reads its contribution afterwards.
  template <class Read>
  void meet(const Given& local, const Read& read) {
    const Locked locked(turn_);
    try {
      group_->given[rank()] = &local;
      wait_for_all();
      for (const Given* other : group_->given) ROLL_CHECK_EQ(other->call, local.call, "ranks make the same calls");
      read(group_->given);
      wait_for_all();
    } catch (...) {
      turns_.fail();
      throw;
    }
  }

  void wait_for_all() {
    check_nobody_failed();
    const int64_t round = group_->round;
    if (++group_->num_here == size()) {
      group_->num_here = 0;
      ++group_->round;
      turns_.num_waiting -= size() - 1;
      return turns_.changed.notify_all();
    }
    ++turns_.num_waiting;
    ROLL_CHECK(turns_.num_waiting < turns_.num_alive, "some rank does not wait for others");
    turns_.changed.wait(turn_, [&] { return turns_.error || group_->round != round; });
    check_nobody_failed();
  }

  void check_nobody_failed() const {
    if (turns_.error) throw system_error("another rank failed");
  }

  Turns& turns_;
  std::unique_lock<std::mutex>& turn_;
  std::shared_ptr<Group> group_;
};

/// Runs one rank from start to end.
void run_rank(Turns& turns, const std::shared_ptr<Group>& world, int rank,
              const std::function<void(Communicator&)>& body) {
  std::unique_lock turn(turns.mutex);
  const auto guarded = [&](const auto& work) {
    if (!turns.error) try {
        work();
      } catch (...) {
        const Locked locked(turn);
        turns.fail();
      }
  };
  guarded([&] {
    if (turns.pace == ThreadPace::kTogether) turn.unlock();
    const auto size = static_cast<int>(world->given.size());
    ThreadCommunicator ranks(turns, turn, world,
                             {.rank = rank, .size = size, .world = {.rank = rank, .size = size, .step = -1}});
    body(ranks);
  });
  const Locked locked(turn);
  --turns.num_alive;
  guarded(
      [&] { ROLL_CHECK(turns.num_alive == 0 || turns.num_waiting < turns.num_alive, "no rank waits for this one"); });
  turns.changed.notify_all();
}

}  // namespace

void run_thread_ranks(int num_ranks, const std::function<void(Communicator& ranks)>& body, ThreadPace pace) {
  if (num_ranks == 1) return body(*make_single_communicator());
  Turns turns{.pace = pace, .num_alive = num_ranks};
  const auto world = std::make_shared<Group>(Group{.given = std::vector<const Given*>(num_ranks)});
  {
    std::vector<std::jthread> threads;
    const std::lock_guard none_works_yet(turns.mutex);
    try {
      for (int rank = 0; rank < num_ranks; ++rank)
        threads.emplace_back([&, rank] { run_rank(turns, world, rank, body); });
    } catch (...) {
      turns.error = std::current_exception();
    }
  }
  if (turns.error) std::rethrow_exception(turns.error);
}

}  // namespace roll
