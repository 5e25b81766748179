#include "dist/merged_metrics.h"

#include "dist/messages.h"

namespace roll {

Metrics merge_over_ranks(const Metrics& local, Communicator& ranks) {
  if (!ranks.communicates()) return local;
  Metrics merged;
  bool all_know_names = true;
  for (const Metrics::Message& message : gather_messages(local.message(), ranks)) {
    const Metrics part = Metrics::from(message);
    all_know_names &= part.has_same_names(local);
    merged.merge(part);
  }
  return Metrics::from(broadcast_message(merged.message(!all_know_names), 0, ranks, "merged metrics"), local);
}

Metrics broadcast_metrics(RoleMesh& role, const Metrics& metrics) {
  return role.is_everywhere() ? metrics : Metrics::from(broadcast_message(metrics.message(), role));
}

}  // namespace roll
