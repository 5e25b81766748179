#include "forecast/planned_ranks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "dist/combine.h"
#include "dist/immediate.h"
#include "dist/single.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// What a member brings to a meeting.
struct Said {
  bool is_here = false;
  std::string bytes;
  std::vector<at::Tensor> tensors;
};
using AllSaid = std::shared_ptr<const std::vector<Said>>;

struct Abandoned : std::exception {};

/// Where threads wait for each other: the one lock of all meetings.
struct Hall {
  const PlannedWorld& world;
  const AbsentWords& absent;
  std::mutex mutex;
  std::condition_variable changed;
  int64_t num_busy = 0;  // ranks that neither wait nor have ended
  bool is_abandoned = false;

  /// With the lock held: a rank waits, or has ended.
  void rest() {
    if (--num_busy == 0) abandon();
  }
  void abandon() {
    is_abandoned = true;
    changed.notify_all();
  }
};

/// The members of one group; those that run meet at each collective that has to do with data.
class Meeting {
 public:
  Meeting(Hall& hall, std::vector<int> members) : hall_(hall), members_(std::move(members)), said_(members_.size()) {
    for (const int rank : members_) num_running_ += std::ranges::binary_search(hall.world.running, rank);
  }

  const std::vector<int>& members() const { return members_; }
  Hall& hall() { return hall_; }

  AllSaid meet(int index, Said mine) {
    std::unique_lock lock(hall_.mutex);
    mine.is_here = true;
    said_[index] = std::move(mine);
    if (++num_there_ == num_running_) {
      all_ = std::make_shared<const std::vector<Said>>(std::exchange(said_, std::vector<Said>(members_.size())));
      hall_.num_busy += num_running_ - 1;
      num_there_ = 0, ++round_;
      hall_.changed.notify_all();
      return all_;
    }
    const int64_t round = round_;
    hall_.rest();
    hall_.changed.wait(lock, [&] { return round_ != round || hall_.is_abandoned; });
    if (round_ == round) throw Abandoned();
    return all_;
  }

  /// The group that the `number`-th split of this one makes of these members.
  std::shared_ptr<Meeting> split(int64_t number, const std::vector<int>& members) {
    const std::scoped_lock lock(hall_.mutex);
    auto& part = parts_[{number, members}];
    if (!part) part = std::make_shared<Meeting>(hall_, members);
    return part;
  }

 private:
  Hall& hall_;
  std::vector<int> members_;  // planned ranks of the world
  int64_t num_running_ = 0, num_there_ = 0, round_ = 0;
  std::vector<Said> said_;
  AllSaid all_;
  std::map<std::pair<int64_t, std::vector<int>>, std::shared_ptr<Meeting>> parts_;
};

/// A group as the world that is asked for has it, and those that it is split into, in turn.
struct AskedGroup {
  std::string name;
  std::vector<int> members;  // ranks of the world
  Member own{};
  std::vector<std::shared_ptr<AskedGroup>> parts;

  /// Of what a collective moves, what passes between hosts: to all alike, or along NCCL's rings, which leave a host
  /// once.
  double far_share(Path path, int64_t ranks_per_host) const {
    const int64_t host = members[own.index] / ranks_per_host;
    const auto begin = std::ranges::lower_bound(members, host * ranks_per_host);
    const auto num_here = std::ranges::lower_bound(members, (host + 1) * ranks_per_host) - begin;
    if (num_here == own.size) return 0;
    if (path == Path::kDevice) return 1 / static_cast<double>(num_here);
    return 1 - static_cast<double>(num_here - 1) / static_cast<double>(own.size - 1);
  }
};

/// Without a meeting it only makes groups.
class PlannedCommunicator : public ImmediateCommunicator {
 public:
  PlannedCommunicator(Membership own, std::shared_ptr<AskedGroup> asked, std::shared_ptr<Meeting> meeting,
                      RankTraffic& counted)
      : ImmediateCommunicator(std::move(own)),
        asked_(std::move(asked)),
        meeting_(std::move(meeting)),
        counted_(counted) {}

  std::string_view kind() const override { return "planned"; }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    Membership own = membership_in(members, group);
    const auto number = static_cast<size_t>(num_splits_++);
    if (number == asked_->parts.size()) asked_->parts.push_back(part_of(members, group, own));
    std::shared_ptr<AskedGroup> part = asked_->parts[number];
    if (part->own.size == 1) return make_single_communicator(std::move(own));
    std::shared_ptr<Meeting> meeting;
    if (meeting_) {
      std::vector<int> ranks;
      for (const int member : members) ranks.push_back(meeting_->members()[member]);
      meeting = meeting_->split(static_cast<int64_t>(number), ranks);
    }
    return std::make_unique<PlannedCommunicator>(std::move(own), std::move(part), std::move(meeting), counted_);
  }

  std::vector<std::string> all_gather_bytes(std::string_view mine, std::string_view name) override {
    std::vector<std::string> all = strings(mine, name);
    count("all_gather_bytes", Path::kHost, all_gather_bytes_cost(asked_->own, std::ssize(mine), bytes_of(all)));
    return all;
  }
  std::vector<std::string> gather_bytes(std::string_view mine, std::string_view name) override {
    std::vector<std::string> all = strings(mine, name);
    const int64_t bytes = std::ssize(mine);
    count("gather_bytes", Path::kHost,
          is_first() ? Cost{.received = bytes_of(all) - bytes} : Cost{.sent = bytes, .message = bytes});
    return is_first() ? all : std::vector<std::string>();
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view) override {
    const Path path = path_of(tensor);
    count("all_reduce", path, all_reduce_cost(asked_->own, path, tensor.numel(), tensor.element_size()));
    if (!tensor.is_meta()) tensor.copy_(reduced(meet({.tensors = {tensor.clone()}}), op));
  }

  void broadcast_dense(at::Tensor& tensor, int root, std::string_view) override {
    const Path path = path_of(tensor);
    const int64_t asked_root = root == rank() ? asked_->own.index : -1;
    count("broadcast", path, broadcast_cost(asked_->own, path, bytes_of(tensor), asked_root));
    if (tensor.is_meta()) return;
    const AllSaid all = meet({.tensors = {tensor.clone()}});
    if ((*all)[root].is_here) tensor.copy_((*all)[root].tensors[0]);
  }

  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view) override {
    // A model that more ranks share out is the same model; a number that each has is one more number.
    const int64_t mine = tensor.is_meta() ? bytes_of(all) / asked_->own.size : bytes_of(tensor);
    count("all_gather", path_of(tensor), all_gather_cost(asked_->own, mine));
    if (tensor.is_meta()) return;
    const AllSaid said = meet({.tensors = {tensor.clone()}});
    const at::Tensor rows = all.view({size(), -1});
    for (int peer = 0; peer < size(); ++peer)
      rows[peer].copy_(((*said)[peer].is_here ? (*said)[peer].tensors[0] : tensor).view({-1}));
  }

  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& mine, std::string_view) override {
    count("reduce_scatter", path_of(all), reduce_scatter_cost(asked_->own, bytes_of(all)));
    if (!all.is_meta())
      mine.view({-1}).copy_(reduced(meet({.tensors = {all.clone()}}), Reduce::kSum).view({size(), -1})[rank()]);
  }

  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view) override {
    // NCCL's ranks first agree on where their tensors are.
    if (world().path == Path::kDevice)
      count("all_reduce", Path::kHost, all_reduce_cost(asked_->own, Path::kHost, 1, 8));
    for (int peer = 0; peer < size(); ++peer)
      if (peer != rank()) count_message(peer, bytes_of(out[peer]), bytes_of(in[peer]));
    const AllSaid all = meet({.tensors = out});
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank() || in[peer].numel() == 0 || in[peer].is_meta()) continue;
      const Said& said = (*all)[peer];
      if (said.is_here) {
        ROLL_CHECK_EQ(bytes_of(said.tensors[rank()]), bytes_of(in[peer]), "ranks expect what they are sent");
        at::Tensor(in[peer]).copy_(said.tensors[rank()]);
      } else {
        in[peer].view({-1}).view(at::kFloat).fill_(1);  // so that no mask is empty
      }
    }
  }

 private:
  static int64_t bytes_of(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }
  /// Of all that are asked for, where these are of the planned ones.
  int64_t bytes_of(const std::vector<std::string>& all) const {
    int64_t bytes = 0;
    for (const std::string& one : all) bytes += std::ssize(one);
    return bytes * asked_->own.size / size();
  }
  const PlannedWorld& world() const { return meeting_->hall().world; }
  Path path_of(const at::Tensor& tensor) const { return tensor.is_meta() ? world().path : Path::kHost; }

  std::shared_ptr<AskedGroup> part_of(const std::vector<int>& members, const std::string& group,
                                      const Membership& own) const {
    auto part = std::make_shared<AskedGroup>(AskedGroup{.name = group, .own = {std::ssize(members), own.rank}});
    for (const int member : members) part->members.push_back(asked_->members[member]);
    return part;
  }

  AllSaid meet(Said mine) { return meeting_->meet(rank(), std::move(mine)); }

  std::vector<std::string> strings(std::string_view mine, std::string_view name) {
    const AllSaid said = meet({.bytes = std::string(mine)});
    const auto first = std::ranges::find(*said, true, &Said::is_here);
    std::vector<std::string> all;
    for (int peer = 0; peer < size(); ++peer) {
      all.push_back((*said)[peer].is_here ? (*said)[peer].bytes
                                          : meeting_->hall().absent(meeting_->members()[peer], name));
      if (!(*said)[peer].is_here && all.back().empty()) all.back() = first->bytes;
    }
    return all;
  }

  static at::Tensor reduced(const AllSaid& all, Reduce op) {
    std::vector<at::Tensor> parts;
    for (const Said& said : *all)
      if (said.is_here) parts.push_back(said.tensors[0]);
    at::Tensor total = at::empty_like(parts[0]);
    parts[0] = parts[0].clone();  // the other ranks read it, too
    combine(parts, op, total);
    return total;
  }

  void count(std::string_view operation, Path path, const Cost& cost) {
    const double far = asked_->far_share(path, world().ranks_per_host);
    const auto flow = [&](int64_t bytes) { return Flow{bytes * times(), static_cast<double>(bytes * times()) * far}; };
    counted_.add(traffic().key(asked_->name, operation), {flow(cost.sent), flow(cost.received)}, cost.message);
  }

  void count_message(int peer, int64_t sent, int64_t received) {
    const std::vector<int>& ranks = meeting_->members();
    const bool is_far = world().host_of(ranks[peer]) != world().host_of(ranks[rank()]);
    const auto flow = [&](int64_t bytes) { return Flow{bytes, is_far ? static_cast<double>(bytes) : 0}; };
    counted_.add(traffic().key(asked_->name, "all_to_all"), {flow(sent), flow(received)}, sent);
  }

  std::shared_ptr<AskedGroup> asked_;
  std::shared_ptr<Meeting> meeting_;
  RankTraffic& counted_;
  int64_t num_splits_ = 0;
};

Membership member_of_world(int64_t rank, int64_t size) {
  const Whereabouts place{static_cast<int>(rank), static_cast<int>(size), -1};
  return {.rank = place.rank, .size = place.size, .world = place};
}

}  // namespace

void run_planned_ranks(const PlannedWorld& world, const std::function<void(Communicator& asked)>& make_groups,
                       const AbsentWords& absent,
                       const std::function<void(int rank, Communicator& world, RankTraffic& traffic)>& body) {
  Hall hall{.world = world, .absent = absent};
  hall.num_busy = std::ssize(world.running);
  const auto meeting = std::make_shared<Meeting>(hall, all_ranks(world.num_planned()));
  const std::vector<int> asked = all_ranks(world.num_asked);
  std::vector<std::exception_ptr> errors(world.running.size());
  const auto run = [&](size_t i) {
    const int rank = world.running[i];
    const int64_t place = world.asked_rank[rank];
    const auto all =
        std::make_shared<AskedGroup>(AskedGroup{.name = "world", .members = asked, .own = {world.num_asked, place}});
    RankTraffic traffic;
    try {
      PlannedCommunicator of_asked(member_of_world(place, world.num_asked), all, nullptr, traffic);
      make_groups(of_asked);
      PlannedCommunicator ranks(member_of_world(rank, world.num_planned()), all, meeting, traffic);
      body(rank, ranks, traffic);
    } catch (...) {
      errors[i] = std::current_exception();
    }
    const std::scoped_lock lock(hall.mutex);
    errors[i] ? hall.abandon() : hall.rest();
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < world.running.size(); ++i) threads.emplace_back(run, i);
  for (std::thread& thread : threads) thread.join();
  bool has_waited = false;
  for (const std::exception_ptr& error : errors) try {
      if (error) std::rethrow_exception(error);
    } catch (const Abandoned&) {
      has_waited = true;
    }
  ROLL_CHECK(!has_waited, "planned ranks call the same collectives");
}

}  // namespace roll
