#include "step/comm_metrics.h"

namespace roll {

void add_traffic_metrics(Traffic& traffic, Metrics& metrics) {
  for (const auto& [key, count] : traffic.take())
    if (count.bytes > 0) metrics.add(fmt::format("comm/{}_bytes", key), static_cast<double>(count.bytes));
}

void add_reduction_metrics(const std::string& role, const UpdateTrace& update, Metrics& metrics) {
  metrics.add(fmt::format("comm/{}/reduce_s@sum", role), update.reduce_s());
  metrics.add(fmt::format("comm/{}/reduce_hidden_s@sum", role), update.hidden_s());
}

}  // namespace roll
