#include "forecast/planned_ranks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "dist/immediate.h"
#include "dist/single.h"
#include "dist/thread_ranks.h"
#include "forecast/launch_order.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// Group of the requested world, with the groups split from it, in order.
struct RequestedGroup {
  std::string name;
  std::vector<int> members;  // ranks of the world
  Member member{};           // this rank's position
  std::vector<std::shared_ptr<RequestedGroup>> parts;

  /// Returns the share of a collective's bytes that crosses hosts. Host path: equal traffic to all ranks; NCCL: rings
  /// that leave each host once.
  double far_share(Path path, int64_t ranks_per_host) const {
    const int64_t host = members[member.index] / ranks_per_host;
    const auto begin = std::ranges::lower_bound(members, host * ranks_per_host);
    const auto ranks_on_host = std::ranges::lower_bound(members, (host + 1) * ranks_per_host) - begin;
    if (ranks_on_host == member.size) return 0;
    if (path == Path::kDevice) return 1 / static_cast<double>(ranks_on_host);
    return 1 - static_cast<double>(ranks_on_host - 1) / static_cast<double>(member.size - 1);
  }
};

/// Records the collectives that a rank launches, for one communicator.
struct LaunchRecord {
  std::vector<LaunchedCall>* all = nullptr;  // the rank's calls over all its communicators; null: nothing is recorded
  std::string communicator = "world";
  int64_t num_launched = 0;

  void add(int num_ranks, Path path, const std::string& name) {
    if (all) all->push_back({communicator, num_launched++, num_ranks, path == Path::kHost, name});
  }
};

/// Ranks of a planned group.
struct PlannedGroup {
  std::vector<int> members;        // ranks in the planned world
  std::vector<int> running_index;  // [member] index among the running ranks; -1: does not run
};

/// Counts collectives and passes real data between running ranks over their own communicator (dist/thread_ranks.h). If
/// `running` is null, it can only split groups.
class PlannedCommunicator : public ImmediateCommunicator {
 public:
  PlannedCommunicator(Membership membership, std::shared_ptr<RequestedGroup> requested, PlannedGroup group,
                      std::shared_ptr<Communicator> running, const PlannedWorld& world, const AbsentMessages& absent,
                      RankTraffic& counted, LaunchRecord launches)
      : ImmediateCommunicator(std::move(membership)),
        requested_(std::move(requested)),
        group_(std::move(group)),
        running_(std::move(running)),
        world_(world),
        absent_(absent),
        counted_(counted),
        launches_(std::move(launches)) {}

  std::string_view kind() const override { return "planned"; }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    Membership membership = membership_in(members, group);
    const auto number = static_cast<size_t>(num_splits_++);
    if (number == requested_->parts.size()) requested_->parts.push_back(make_part(members, group, membership));
    std::shared_ptr<RequestedGroup> part = requested_->parts[number];
    PlannedGroup planned;
    std::vector<int> running;
    for (const int member : members) {
      planned.members.push_back(group_.members[member]);
      const int index = group_.running_index[member];
      planned.running_index.push_back(index < 0 ? -1 : static_cast<int>(running.size()));
      if (index >= 0) running.push_back(index);
    }
    std::shared_ptr<Communicator> data = running_ ? running_->split(running, group) : nullptr;
    if (part->member.size == 1) return make_single_communicator(std::move(membership));
    LaunchRecord launches{launches_.all,
                          fmt::format("{}/{} of {}", launches_.communicator, number, fmt::join(planned.members, ","))};
    return std::make_unique<PlannedCommunicator>(std::move(membership), std::move(part), std::move(planned),
                                                 std::move(data), world_, absent_, counted_, std::move(launches));
  }

  std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) override {
    std::vector<std::string> all = gather_strings(local, name);
    count("all_gather_bytes", Path::kHost,
          all_gather_bytes_cost(requested_->member, std::ssize(local), count_bytes(all)));
    return all;
  }
  std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) override {
    std::vector<std::string> all = gather_strings(local, name);
    const int64_t bytes = std::ssize(local);
    count("gather_bytes", Path::kHost,
          is_first() ? Cost{.received = count_bytes(all) - bytes} : Cost{.sent = bytes, .message = bytes});
    return is_first() ? all : std::vector<std::string>();
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) override {
    const Path path = choose_path(tensor);
    count("all_reduce", path, all_reduce_cost(requested_->member, path, tensor.numel(), tensor.element_size()));
    if (!tensor.is_meta()) running_->all_reduce(tensor, op, name);
  }

  void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) override {
    const Path path = choose_path(tensor);
    const int64_t requested_root = root == rank() ? requested_->member.index : -1;
    count("broadcast", path, broadcast_cost(requested_->member, path, count_bytes(tensor), requested_root));
    if (!tensor.is_meta() && runs(root)) running_->broadcast(tensor, group_.running_index[root], name);
  }

  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) override {
    // Model shards shrink with more ranks, but host values (one per rank) do not.
    const int64_t local = tensor.is_meta() ? count_bytes(all) / requested_->member.size : count_bytes(tensor);
    count("all_gather", choose_path(tensor), all_gather_cost(requested_->member, local));
    if (tensor.is_meta()) return;
    const std::vector<at::Tensor> gathered = running_->all_gather(tensor, name);
    const at::Tensor rows = all.view({size(), -1});
    for (int peer = 0; peer < size(); ++peer)
      rows[peer].copy_((runs(peer) ? gathered[group_.running_index[peer]] : tensor).view({-1}));
  }

  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view name) override {
    count("reduce_scatter", choose_path(all), reduce_scatter_cost(requested_->member, count_bytes(all)));
    if (all.is_meta()) return;
    at::Tensor sum = all.clone();
    running_->all_reduce_sum(sum, name);
    local.view({-1}).copy_(sum.view({size(), -1})[rank()]);
  }

  void all_to_all_dense(const at::Tensor& out, at::Tensor& in, std::string_view name) override {
    if (choose_path(out) == Path::kHost) return Communicator::all_to_all_dense(out, in, name);
    count("all_to_all", Path::kDevice, reduce_scatter_cost(requested_->member, count_bytes(out)));  // same byte count
  }

  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view name) override {
    count_messages(out, in);
    if (out.front().is_meta()) return;  // otherwise all ranks have data
    std::vector<at::Tensor> sent(running_->size()), received(running_->size());
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      if (runs(peer)) {
        if (!out[peer].is_meta()) sent[group_.running_index[peer]] = out[peer];
        if (!in[peer].is_meta()) received[group_.running_index[peer]] = in[peer];
      } else if (in[peer].numel() > 0 && !in[peer].is_meta()) {
        in[peer].view({-1}).view(at::kFloat).fill_(1);  // nonzero, so that no mask is empty
      }
    }
    running_->exchange(sent, received, name);
  }

 private:
  static int64_t count_bytes(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }
  /// Scales the byte count from the planned to the requested group.
  int64_t count_bytes(const std::vector<std::string>& all) const {
    int64_t bytes = 0;
    for (const std::string& message : all) bytes += std::ssize(message);
    return bytes * requested_->member.size / size();
  }
  bool runs(int member) const { return group_.running_index[member] >= 0; }
  Path choose_path(const at::Tensor& tensor) const { return tensor.is_meta() ? world_.path : Path::kHost; }

  std::shared_ptr<RequestedGroup> make_part(const std::vector<int>& members, const std::string& group,
                                            const Membership& membership) const {
    auto part = std::make_shared<RequestedGroup>(
        RequestedGroup{.name = group, .member = {std::ssize(members), membership.rank}});
    for (const int member : members) part->members.push_back(requested_->members[member]);
    return part;
  }

  std::vector<std::string> gather_strings(std::string_view local, std::string_view name) {
    const std::vector<std::string> gathered = running_->all_gather_bytes(local, name);
    std::vector<std::string> all;
    for (int peer = 0; peer < size(); ++peer) {
      const std::string message =
          runs(peer) ? gathered[group_.running_index[peer]] : absent_(group_.members[peer], name);
      all.push_back(message.empty() && !runs(peer) ? gathered.front() : message);
    }
    return all;
  }

  void count(std::string_view operation, Path path, const Cost& cost) {
    const double far = requested_->far_share(path, world_.ranks_per_host);
    const auto flow = [&](int64_t bytes) { return Flow{bytes * times(), static_cast<double>(bytes * times()) * far}; };
    const std::string key = traffic().key(requested_->name, operation);
    launches_.add(size(), path, key);
    counted_.add(key, {flow(cost.sent), flow(cost.received), times()}, cost.message);
  }

  /// Counts the messages to and from all peers as one call and one entry; plans have millions of messages.
  void count_messages(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in) {
    Moved total{.calls = times()};
    int64_t largest = 0;
    const int64_t host = world_.planned_host(group_.members[rank()]);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      const bool is_far = world_.planned_host(group_.members[peer]) != host;
      const auto add = [&](Flow& flow, int64_t bytes) {
        flow += {bytes * times(), is_far ? static_cast<double>(bytes * times()) : 0};
      };
      add(total.sent, count_bytes(out[peer]));
      add(total.received, count_bytes(in[peer]));
      largest = std::max(largest, count_bytes(out[peer]));
    }
    const std::string key = traffic().key(requested_->name, "all_to_all");
    launches_.add(size(), choose_path(out.front()), key);
    counted_.add(key, total, largest);
  }

  std::shared_ptr<RequestedGroup> requested_;
  PlannedGroup group_;
  std::shared_ptr<Communicator> running_;
  const PlannedWorld& world_;
  const AbsentMessages& absent_;
  RankTraffic& counted_;
  LaunchRecord launches_;
  int64_t num_splits_ = 0;
};

Membership make_membership(int64_t rank, int64_t size) {
  const Whereabouts whereabouts{static_cast<int>(rank), static_cast<int>(size), -1};
  return {.rank = whereabouts.rank, .size = whereabouts.size, .world = whereabouts};
}

}  // namespace

void run_planned_ranks(const PlannedWorld& world, const std::function<void(Communicator& requested)>& make_groups,
                       const AbsentMessages& absent,
                       const std::function<void(int rank, Communicator& world, RankTraffic& traffic)>& body) {
  PlannedGroup planned{all_ranks(world.num_planned()), std::vector<int>(world.num_planned(), -1)};
  for (size_t i = 0; i < world.running.size(); ++i) planned.running_index[world.running[i]] = static_cast<int>(i);
  const std::vector<int> requested = all_ranks(world.num_requested);
  const bool checks_order = world.path == Path::kDevice && std::ssize(world.running) == world.num_requested;
  std::vector<std::vector<LaunchedCall>> launches(world.running.size());
  const auto run = [&](Communicator& running) {
    const int rank = world.running[running.rank()];
    const int64_t requested_rank = world.requested_rank[rank];
    const auto world_group = std::make_shared<RequestedGroup>(
        RequestedGroup{.name = "world", .members = requested, .member = {world.num_requested, requested_rank}});
    RankTraffic traffic;
    PlannedCommunicator requested_world(make_membership(requested_rank, world.num_requested), world_group,
                                        {requested, std::vector<int>(world.num_requested, -1)}, nullptr, world, absent,
                                        traffic, {});
    make_groups(requested_world);
    const std::shared_ptr<Communicator> not_owned(&running, [](Communicator*) {});
    PlannedCommunicator ranks(make_membership(rank, world.num_planned()), world_group, planned, not_owned, world,
                              absent, traffic, {checks_order ? &launches[running.rank()] : nullptr});
    body(rank, ranks, traffic);
  };
  run_thread_ranks(static_cast<int>(world.running.size()), run, ThreadPace::kTogether);
  constexpr int kSlots = 2;  // pipelines send and receive at the same time
  if (const std::string stuck = stuck_launches(launches, kSlots); !stuck.empty())
    throw Bug(fmt::format("on GPUs, these collectives would wait for each other forever: {}", stuck));
}

}  // namespace roll
