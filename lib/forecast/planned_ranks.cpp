#include "forecast/planned_ranks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>

#include "dist/immediate.h"
#include "dist/single.h"
#include "dist/thread_ranks.h"
#include "settings/placement.h"

namespace roll {

namespace {

/// Group of the asked world, with the groups split from it, in order.
struct AskedGroup {
  std::string name;
  std::vector<int> members;  // ranks of the world
  Member own{};
  std::vector<std::shared_ptr<AskedGroup>> parts;

  /// Returns the share of a collective's bytes that crosses hosts. Host path: equal traffic to all ranks; NCCL: rings
  /// that leave each host once.
  double far_share(Path path, int64_t ranks_per_host) const {
    const int64_t host = members[own.index] / ranks_per_host;
    const auto begin = std::ranges::lower_bound(members, host * ranks_per_host);
    const auto num_here = std::ranges::lower_bound(members, (host + 1) * ranks_per_host) - begin;
    if (num_here == own.size) return 0;
    if (path == Path::kDevice) return 1 / static_cast<double>(num_here);
    return 1 - static_cast<double>(num_here - 1) / static_cast<double>(own.size - 1);
  }
};

/// Ranks of a planned group.
struct PlannedGroup {
  std::vector<int> members;  // ranks in the planned world
  std::vector<int> places;   // [member] index among the running ranks; -1: does not run
};

/// Counts collectives and passes real data between running ranks over their own communicator (dist/thread_ranks.h). If
/// `running` is null, it can only split groups.
class PlannedCommunicator : public ImmediateCommunicator {
 public:
  PlannedCommunicator(Membership own, std::shared_ptr<AskedGroup> asked, PlannedGroup group,
                      std::shared_ptr<Communicator> running, const PlannedWorld& world, const AbsentWords& absent,
                      RankTraffic& counted)
      : ImmediateCommunicator(std::move(own)),
        asked_(std::move(asked)),
        group_(std::move(group)),
        running_(std::move(running)),
        world_(world),
        absent_(absent),
        counted_(counted) {}

  std::string_view kind() const override { return "planned"; }

  std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) override {
    Membership own = membership_in(members, group);
    const auto number = static_cast<size_t>(num_splits_++);
    if (number == asked_->parts.size()) asked_->parts.push_back(part_of(members, group, own));
    std::shared_ptr<AskedGroup> part = asked_->parts[number];
    PlannedGroup planned;
    std::vector<int> running;
    for (const int member : members) {
      planned.members.push_back(group_.members[member]);
      const int place = group_.places[member];
      planned.places.push_back(place < 0 ? -1 : static_cast<int>(running.size()));
      if (place >= 0) running.push_back(place);
    }
    std::shared_ptr<Communicator> data = running_ ? running_->split(running, group) : nullptr;
    if (part->own.size == 1) return make_single_communicator(std::move(own));
    return std::make_unique<PlannedCommunicator>(std::move(own), std::move(part), std::move(planned), std::move(data),
                                                 world_, absent_, counted_);
  }

  std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) override {
    std::vector<std::string> all = strings(local, name);
    count("all_gather_bytes", Path::kHost, all_gather_bytes_cost(asked_->own, std::ssize(local), bytes_of(all)));
    return all;
  }
  std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) override {
    std::vector<std::string> all = strings(local, name);
    const int64_t bytes = std::ssize(local);
    count("gather_bytes", Path::kHost,
          is_first() ? Cost{.received = bytes_of(all) - bytes} : Cost{.sent = bytes, .message = bytes});
    return is_first() ? all : std::vector<std::string>();
  }

 protected:
  void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) override {
    const Path path = path_of(tensor);
    count("all_reduce", path, all_reduce_cost(asked_->own, path, tensor.numel(), tensor.element_size()));
    if (!tensor.is_meta()) running_->all_reduce(tensor, op, name);
  }

  void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) override {
    const Path path = path_of(tensor);
    const int64_t asked_root = root == rank() ? asked_->own.index : -1;
    count("broadcast", path, broadcast_cost(asked_->own, path, bytes_of(tensor), asked_root));
    if (!tensor.is_meta() && runs(root)) running_->broadcast(tensor, group_.places[root], name);
  }

  void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) override {
    // Model shards shrink with more ranks, but host values (one per rank) do not.
    const int64_t local = tensor.is_meta() ? bytes_of(all) / asked_->own.size : bytes_of(tensor);
    count("all_gather", path_of(tensor), all_gather_cost(asked_->own, local));
    if (tensor.is_meta()) return;
    const std::vector<at::Tensor> given = running_->all_gather(tensor, name);
    const at::Tensor rows = all.view({size(), -1});
    for (int peer = 0; peer < size(); ++peer)
      rows[peer].copy_((runs(peer) ? given[group_.places[peer]] : tensor).view({-1}));
  }

  void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view name) override {
    count("reduce_scatter", path_of(all), reduce_scatter_cost(asked_->own, bytes_of(all)));
    if (all.is_meta()) return;
    at::Tensor sum = all.clone();
    running_->all_reduce_sum(sum, name);
    local.view({-1}).copy_(sum.view({size(), -1})[rank()]);
  }

  void all_to_all_dense(const at::Tensor& out, at::Tensor& in, std::string_view name) override {
    if (path_of(out) == Path::kHost) return Communicator::all_to_all_dense(out, in, name);
    count("all_to_all", Path::kDevice, reduce_scatter_cost(asked_->own, bytes_of(out)));  // same byte count
  }

  void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                      std::string_view name) override {
    // NCCL's ranks first agree on the devices of their tensors.
    if (world_.path == Path::kDevice) count("all_reduce", Path::kHost, all_reduce_cost(asked_->own, Path::kHost, 1, 8));
    count_messages(out, in);
    if (out.front().is_meta()) return;  // otherwise all ranks have data
    std::vector<at::Tensor> sent(running_->size()), received(running_->size());
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      if (runs(peer)) {
        if (!out[peer].is_meta()) sent[group_.places[peer]] = out[peer];
        if (!in[peer].is_meta()) received[group_.places[peer]] = in[peer];
      } else if (in[peer].numel() > 0 && !in[peer].is_meta()) {
        in[peer].view({-1}).view(at::kFloat).fill_(1);  // nonzero, so that no mask is empty
      }
    }
    running_->exchange(sent, received, name);
  }

 private:
  static int64_t bytes_of(const at::Tensor& tensor) { return static_cast<int64_t>(tensor.nbytes()); }
  /// Scales the byte count from the planned to the asked group.
  int64_t bytes_of(const std::vector<std::string>& all) const {
    int64_t bytes = 0;
    for (const std::string& one : all) bytes += std::ssize(one);
    return bytes * asked_->own.size / size();
  }
  bool runs(int member) const { return group_.places[member] >= 0; }
  Path path_of(const at::Tensor& tensor) const { return tensor.is_meta() ? world_.path : Path::kHost; }

  std::shared_ptr<AskedGroup> part_of(const std::vector<int>& members, const std::string& group,
                                      const Membership& own) const {
    auto part = std::make_shared<AskedGroup>(AskedGroup{.name = group, .own = {std::ssize(members), own.rank}});
    for (const int member : members) part->members.push_back(asked_->members[member]);
    return part;
  }

  std::vector<std::string> strings(std::string_view local, std::string_view name) {
    const std::vector<std::string> said = running_->all_gather_bytes(local, name);
    std::vector<std::string> all;
    for (int peer = 0; peer < size(); ++peer) {
      const std::string words = runs(peer) ? said[group_.places[peer]] : absent_(group_.members[peer], name);
      all.push_back(words.empty() && !runs(peer) ? said.front() : words);
    }
    return all;
  }

  void count(std::string_view operation, Path path, const Cost& cost) {
    const double far = asked_->far_share(path, world_.ranks_per_host);
    const auto flow = [&](int64_t bytes) { return Flow{bytes * times(), static_cast<double>(bytes * times()) * far}; };
    counted_.add(traffic().key(asked_->name, operation), {flow(cost.sent), flow(cost.received), times()}, cost.message);
  }

  /// Counts the messages to and from all peers as one call and one entry; plans have millions of messages.
  void count_messages(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in) {
    Moved all{.calls = times()};
    int64_t largest = 0;
    const int64_t host = world_.planned_host(group_.members[rank()]);
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) continue;
      const bool is_far = world_.planned_host(group_.members[peer]) != host;
      const auto add = [&](Flow& flow, int64_t bytes) {
        flow += {bytes * times(), is_far ? static_cast<double>(bytes * times()) : 0};
      };
      add(all.sent, bytes_of(out[peer]));
      add(all.received, bytes_of(in[peer]));
      largest = std::max(largest, bytes_of(out[peer]));
    }
    counted_.add(traffic().key(asked_->name, "all_to_all"), all, largest);
  }

  std::shared_ptr<AskedGroup> asked_;
  PlannedGroup group_;
  std::shared_ptr<Communicator> running_;
  const PlannedWorld& world_;
  const AbsentWords& absent_;
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
  PlannedGroup planned{all_ranks(world.num_planned()), std::vector<int>(world.num_planned(), -1)};
  for (size_t i = 0; i < world.running.size(); ++i) planned.places[world.running[i]] = static_cast<int>(i);
  const std::vector<int> asked = all_ranks(world.num_asked);
  const auto run = [&](Communicator& running) {
    const int rank = world.running[running.rank()];
    const int64_t place = world.asked_rank[rank];
    const auto all =
        std::make_shared<AskedGroup>(AskedGroup{.name = "world", .members = asked, .own = {world.num_asked, place}});
    RankTraffic traffic;
    PlannedCommunicator of_asked(member_of_world(place, world.num_asked), all,
                                 {asked, std::vector<int>(world.num_asked, -1)}, nullptr, world, absent, traffic);
    make_groups(of_asked);
    const std::shared_ptr<Communicator> not_owned(&running, [](Communicator*) {});
    PlannedCommunicator ranks(member_of_world(rank, world.num_planned()), all, planned, not_owned, world, absent,
                              traffic);
    body(rank, ranks, traffic);
  };
  run_thread_ranks(static_cast<int>(world.running.size()), run, ThreadPace::kTogether);
}

}  // namespace roll
