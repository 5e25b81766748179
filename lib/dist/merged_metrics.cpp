#include "dist/merged_metrics.h"

namespace roll {

Metrics merge_over_ranks(const Metrics& mine, Communicator& ranks) {
  if (!ranks.communicates()) return mine;
  Metrics merged;
  bool all_know_names = true;
  for (const auto& bytes : ranks.gather_bytes(mine.serialize(), "metrics")) {
    const Metrics part = Metrics::parse(bytes);
    all_know_names &= part.has_names_of(mine);
    merged.merge(part);
  }
  return Metrics::parse(ranks.broadcast_bytes(merged.serialize(!all_know_names), 0, "merged metrics"), mine);
}

Metrics told(RoleMesh& role, const Metrics& metrics) {
  return role.is_everywhere() ? metrics : Metrics::parse(role.tell_bytes(metrics.serialize(), "metrics"));
}

}  // namespace roll
