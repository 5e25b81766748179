#include "forecast/launch_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace roll {

namespace {

/// A rank's device: the launch that starts next, and those that run.
struct Device {
  size_t next = 0;
  std::vector<const LaunchedCall*> running;

  bool may_start(const LaunchedCall& launch, int num_slots) const {
    if (launch.on_host || (!running.empty() && running.front()->on_host)) return running.empty();
    return std::ssize(running) < num_slots && std::ranges::none_of(running, [&](const LaunchedCall* other) {
             return other->communicator == launch.communicator;
           });
  }
};

}  // namespace

std::string stuck_launches(const std::vector<std::vector<LaunchedCall>>& launches, int num_slots) {
  std::vector<Device> devices(launches.size());
  std::map<std::pair<std::string, int64_t>, std::vector<size_t>> started;  // by communicator and number: ranks
  std::deque<size_t> changed;                                              // devices that may start something
  for (size_t rank = 0; rank < launches.size(); ++rank) changed.push_back(rank);
  while (!changed.empty()) {
    const size_t rank = changed.front();
    Device& device = devices[rank];
    if (device.next == launches[rank].size() || !device.may_start(launches[rank][device.next], num_slots)) {
      changed.pop_front();
      continue;
    }
    const LaunchedCall& launch = launches[rank][device.next++];
    device.running.push_back(&launch);
    const auto at = started.try_emplace({launch.communicator, launch.number}).first;
    at->second.push_back(rank);
    if (std::ssize(at->second) < launch.num_ranks) continue;
    for (const size_t done : at->second) {
      std::erase_if(devices[done].running,
                    [&](const LaunchedCall* other) { return other->communicator == launch.communicator; });
      changed.push_back(done);
    }
    started.erase(at);
  }
  std::string stuck;
  for (const auto& [collective, ranks] : started) {
    const LaunchedCall& launch =
        **std::ranges::find(devices[ranks.front()].running, collective.first, &LaunchedCall::communicator);
    stuck += fmt::format("{}{} (call {} on {} of {} ranks, such as rank {})", stuck.empty() ? "" : ", ", launch.name,
                         launch.number, ranks.size(), launch.num_ranks, ranks.front());
  }
  return stuck;
}

}  // namespace roll
