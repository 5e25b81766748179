#include "preview/traffic_forecast.h"

#include <fmt/format.h>

namespace roll {

void TrafficForecast::add(size_t rank, const std::string& key, Sent sent, int64_t message) {
  if (sent.bytes == 0) return;
  std::vector<Sent>& of_key = sent_[key];
  of_key.resize(num_ranks_);
  of_key[rank].bytes += sent.bytes;
  of_key[rank].far_bytes += sent.far_bytes;
  if (message > largest_) largest_ = message, largest_key_ = key;
}

double Group::far_share(Path path) const {
  if (num_near + 1 >= own.size) return 0;
  if (path == Path::kDevice) return 1 / static_cast<double>(num_near + 1);
  return 1 - static_cast<double>(num_near) / static_cast<double>(own.size - 1);
}

void PhaseTraffic::add(const Group& group, Path path, const char* operation, const Cost& cost) {
  const Sent sent{cost.bytes, static_cast<double>(cost.bytes) * group.far_share(path)};
  forecast_.add(rank_, fmt::format("{}/{}/{}", phase_, group.name, operation), sent, cost.message);
}

void PhaseTraffic::all_reduce(const Group& group, Path path, int64_t count, int64_t element, int64_t times) {
  add(group, path, "all_reduce", all_reduce_cost(group.own, path, count, element) * times);
}
void PhaseTraffic::reduce_scatter(const Group& group, Path path, int64_t all, int64_t times) {
  add(group, path, "reduce_scatter", reduce_scatter_cost(group.own, all) * times);
}
void PhaseTraffic::all_gather(const Group& group, Path path, int64_t mine, int64_t times) {
  add(group, path, "all_gather", all_gather_cost(group.own, mine) * times);
}
void PhaseTraffic::all_gather_bytes(const Group& group, int64_t mine) {
  add(group, Path::kHost, "all_gather_bytes", all_gather_cost(group.own, mine));
}
void PhaseTraffic::send(const Group& group, Path path, int64_t bytes) {
  add(group, path, "all_to_all", {bytes, bytes});
}
void PhaseTraffic::broadcast(const Group& group, Path path, int64_t bytes, int64_t root) {
  add(group, path, "broadcast", broadcast_cost(group.own, path, bytes, root));
}

}  // namespace roll
