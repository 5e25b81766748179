#include "step/offload.h"

namespace roll {

void Offload::put_away() {
  if (!is_on_) return;
  for (const auto& [role, learner] : trainer_.learners()) learner->offload(/*keeps_parameters=*/role == kPolicyRole);
}

void Offload::bring_back() {
  if (!is_on_) return;
  for (const auto& [role, learner] : trainer_.learners()) learner->reload();
}

}  // namespace roll
