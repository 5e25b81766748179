#include "dist/merged_metrics.h"

#include "dist/messages.h"

namespace roll {

Metrics merge_over_ranks(const Metrics& mine, Communicator& ranks) {
  if (!ranks.communicates()) return mine;
  Metrics merged;
  bool all_know_names = true;
  for (const Metrics::Message& message : gather_messages(mine.message(), ranks)) {
    const Metrics part = Metrics::from(message);
    all_know_names &= part.has_names_of(mine);
    merged.merge(part);
  }
  return Metrics::from(broadcast_message(merged.message(!all_know_names), 0, ranks, "merged metrics"), mine);
}

Metrics broadcast_metrics(RoleMesh& role, const Metrics& metrics) {
  return role.is_everywhere() ? metrics : Metrics::from(broadcast_message(metrics.message(), role));
}

}  // namespace roll
