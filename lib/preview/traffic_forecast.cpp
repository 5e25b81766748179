#include "preview/traffic_forecast.h"

#include <fmt/format.h>

namespace roll {

Moved& TrafficForecast::at(size_t rank, const std::string& key) {
  std::vector<Moved>& of_key = moved_[key];
  of_key.resize(num_ranks_);
  return of_key[rank];
}

void TrafficForecast::add_received(size_t rank, const std::string& key, Flow received) {
  if (received.bytes > 0) at(rank, key).received += received;
}

void TrafficForecast::add_sent(size_t rank, const std::string& key, Flow sent, int64_t message) {
  if (sent.bytes == 0) return;
  at(rank, key).sent += sent;
  if (message > largest_) largest_ = message, largest_key_ = key;
}

double Group::far_share(Path path) const {
  if (num_near + 1 >= own.size) return 0;
  if (path == Path::kDevice) return 1 / static_cast<double>(num_near + 1);
  return 1 - static_cast<double>(num_near) / static_cast<double>(own.size - 1);
}

std::string PhaseTraffic::key(const Group& group, const char* operation) const {
  return fmt::format("{}/{}/{}", phase_, group.name, operation);
}

void PhaseTraffic::add(const Group& group, Path path, const char* operation, const Cost& cost) {
  const auto flow = [&](int64_t bytes) { return Flow{bytes, static_cast<double>(bytes) * group.far_share(path)}; };
  forecast_.add_sent(rank_, key(group, operation), flow(cost.sent), cost.message);
  forecast_.add_received(rank_, key(group, operation), flow(cost.received));
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
void PhaseTraffic::all_gather_bytes(const Group& group, int64_t mine, int64_t all) {
  add(group, Path::kHost, "all_gather_bytes", all_gather_bytes_cost(group.own, mine, all));
}
void PhaseTraffic::send(const Group& group, int64_t bytes, bool is_far) {
  forecast_.add_sent(rank_, key(group, "all_to_all"), message_flow(bytes, is_far), bytes);
}
void PhaseTraffic::receive(const Group& group, int64_t bytes, bool is_far) {
  forecast_.add_received(rank_, key(group, "all_to_all"), message_flow(bytes, is_far));
}
void PhaseTraffic::broadcast(const Group& group, Path path, int64_t bytes, int64_t root) {
  add(group, path, "broadcast", broadcast_cost(group.own, path, bytes, root));
}

}  // namespace roll
