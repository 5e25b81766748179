#include "dist/merged_metrics.h"

namespace roll {

Metrics merge_over_ranks(const Metrics& mine, Communicator& ranks) {
  if (!ranks.communicates()) return mine;
  Metrics merged;
  for (const auto& bytes : ranks.gather_bytes(mine.serialize(), "metrics")) merged.merge(Metrics::parse(bytes));
  return Metrics::parse(ranks.broadcast_bytes(merged.serialize(), 0, "merged metrics"));
}

Metrics told(RoleMesh& role, const Metrics& metrics) {
  return role.is_everywhere() ? metrics : Metrics::parse(role.tell_bytes(metrics.serialize(), "metrics"));
}

}  // namespace roll
