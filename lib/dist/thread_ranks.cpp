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
struct SharedState {
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
  explicit Locked(std::unique_lock<std::mutex>& rank_lock) : lock_(rank_lock), was_held_(rank_lock.owns_lock()) {
    if (!was_held_) lock_.lock();
  }
  ~Locked() {
    if (!was_held_) lock_.unlock();
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  std::unique_lock<std::mutex>& lock_;
  bool was_held_;
};

struct Group;

/// A rank's contribution to a collective.
struct Contribution {
  std::string call;  // equal on all ranks
  std::vector<at::Tensor> tensors{};
  std::string_view bytes{};
  std::shared_ptr<Group> group{};
};

struct Group {
  std::vector<const Contribution*> contributions;  // by rank
  int num_arrived = 0;
  int64_t round = 0;
};

class ThreadCommunicator : public ImmediateCommunicator {
 public:
  /// `rank_lock`: the lock of this rank's thread on state.mutex.
  ThreadCommunicator(SharedState& state, std::unique_lock<std::mutex>& rank_lock, std::shared_ptr<Group> group,
                     Membership membership)
      : ImmediateCommunicator(std::move(membership)), state_(state), lock_(rank_lock), group_(std::move(group)) {}

  std::string_view kind() const override { return "threads"; }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    Membership membership = membership_in(members, group);
    const auto new_group =
        std::make_shared<Group>(Group{.contributions = std::vector<const Contribution*>(members.size())});
    std::shared_ptr<Group> shared_group;
    meet({.call = "split", .group = new_group},
         [&](const auto& contributions) { shared_group = contributions[members.front()]->group; });
    if (members.size() == 1) return make_single_communicator(std::move(membership));
    return std::make_unique<ThreadCommunicator>(state_, lock_, std::move(shared_group), std::move(membership));
  }

  std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) override {
    std::vector<std::string> all;
    meet({.call = fmt::format("gather '{}'", name), .bytes = local}, [&](const auto& contributions) {
      for (const Contribution* contribution : contributions) all.emplace_back(contribution->bytes);
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
    meet(make_contribution("reduce", static_cast<int>(op), tensor, name), [&](const auto& contributions) {
      combine(copy_parts(contributions, [](const at::Tensor& t) { return t; }), op, total);
    });
    tensor.copy_(total);
  }
  void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) override {
    meet(make_contribution("broadcast", root, tensor, name), [&](const auto& contributions) {
      if (rank() != root) tensor.copy_(contributions[root]->tensors[0]);
    });
  }
  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) override {
    const at::Tensor rows = all.view({size(), -1});
    meet(make_contribution("gather", 0, tensor, name), [&](const auto& contributions) {
      for (int peer = 0; peer < size(); ++peer)
        if (at::Tensor row = rows[peer]; row.data_ptr() != contributions[peer]->tensors[0].data_ptr())
          row.copy_(contributions[peer]->tensors[0].view({-1}));
    });
  }
  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view name) override {
    at::Tensor total = at::empty({local.numel()}, local.options());
    const auto own_row = [this](const at::Tensor& rows) { return rows.view({size(), -1})[rank()]; };
    meet(make_contribution("reduce-scatter", 0, all, name),
         [&](const auto& contributions) { combine(copy_parts(contributions, own_row), Reduce::kSum, total); });
    local.view({-1}).copy_(total);
  }
  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view name) override {
    meet({.call = fmt::format("exchange '{}'", name), .tensors = out}, [&](const auto& contributions) {
      for (int peer = 0; peer < size(); ++peer) {
        if (peer == rank()) continue;
        const at::Tensor& sent = contributions[peer]->tensors[rank()];
        ROLL_CHECK_EQ(sent.nbytes(), in[peer].nbytes(), "a message has the size that the receiver expects");
        if (sent.numel() > 0) at::Tensor(in[peer]).copy_(sent);
      }
    });
  }

 private:
  static Contribution make_contribution(const char* operation, int detail, const at::Tensor& tensor,
                                        std::string_view name) {
    return {.call = fmt::format("{} {} '{}' of {} {}", operation, detail, name, tensor.numel(),
                                c10::toString(tensor.scalar_type())),
            .tensors = {tensor}};
  }

  /// Returns copies of the ranks' parts, which may be overwritten.
  template <class Part>
  static std::vector<at::Tensor> copy_parts(const std::vector<const Contribution*>& contributions, const Part& part) {
    std::vector<at::Tensor> parts;
    for (const Contribution* contribution : contributions) parts.push_back(part(contribution->tensors[0]).clone());
    return parts;
  }

  /// Calls `read` with the contributions of all ranks of the group, which must not change before this returns. A rank
  /// that throws marks the error first, so that nobody reads its contribution afterwards.
  template <class Read>
  void meet(const Contribution& local, const Read& read) {
    const Locked locked(lock_);
    try {
      group_->contributions[rank()] = &local;
      wait_for_all();
      for (const Contribution* other : group_->contributions)
        ROLL_CHECK_EQ(other->call, local.call, "ranks make the same calls");
      read(group_->contributions);
      wait_for_all();
    } catch (...) {
      state_.fail();
      throw;
    }
  }

  void wait_for_all() {
    check_nobody_failed();
    const int64_t round = group_->round;
    if (++group_->num_arrived == size()) {
      group_->num_arrived = 0;
      ++group_->round;
      state_.num_waiting -= size() - 1;
      return state_.changed.notify_all();
    }
    ++state_.num_waiting;
    ROLL_CHECK(state_.num_waiting < state_.num_alive, "some rank does not wait for others");
    state_.changed.wait(lock_, [&] { return state_.error || group_->round != round; });
    check_nobody_failed();
  }

  void check_nobody_failed() const {
    if (state_.error) throw system_error("another rank failed");
  }

  SharedState& state_;
  std::unique_lock<std::mutex>& lock_;
  std::shared_ptr<Group> group_;
};

/// Runs one rank from start to end.
void run_rank(SharedState& state, const std::shared_ptr<Group>& world, int rank,
              const std::function<void(Communicator&)>& body) {
  std::unique_lock rank_lock(state.mutex);
  const auto guarded = [&](const auto& work) {
    if (!state.error) try {
        work();
      } catch (...) {
        const Locked locked(rank_lock);
        state.fail();
      }
  };
  guarded([&] {
    if (state.pace == ThreadPace::kTogether) rank_lock.unlock();
    const auto size = static_cast<int>(world->contributions.size());
    ThreadCommunicator ranks(state, rank_lock, world,
                             {.rank = rank, .size = size, .world = {.rank = rank, .size = size, .step = -1}});
    body(ranks);
  });
  const Locked locked(rank_lock);
  --state.num_alive;
  guarded(
      [&] { ROLL_CHECK(state.num_alive == 0 || state.num_waiting < state.num_alive, "no rank waits for this one"); });
  state.changed.notify_all();
}

}  // namespace

void run_thread_ranks(int num_ranks, const std::function<void(Communicator& ranks)>& body, ThreadPace pace) {
  if (num_ranks == 1) return body(*make_single_communicator());
  SharedState state{.pace = pace, .num_alive = num_ranks};
  const auto world = std::make_shared<Group>(Group{.contributions = std::vector<const Contribution*>(num_ranks)});
  {
    std::vector<std::jthread> threads;
    const std::lock_guard none_works_yet(state.mutex);
    try {
      for (int rank = 0; rank < num_ranks; ++rank)
        threads.emplace_back([&, rank] { run_rank(state, world, rank, body); });
    } catch (...) {
      state.error = std::current_exception();
    }
  }
  if (state.error) std::rethrow_exception(state.error);
}

}  // namespace roll
