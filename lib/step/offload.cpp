#include "step/offload.h"

namespace roll {

void Offload::put_away() {
  if (!is_on_) return;
  if (Learner* actor = trainer_.actor()) actor->offload(/*keeps_parameters=*/true);
  if (Learner* critic = trainer_.critic()) critic->offload(/*keeps_parameters=*/false);
  if (roles_.reference) move_parameters(roles_.reference->parameters(), at::kCPU);
}

void Offload::bring_back() {
  if (!is_on_) return;
  for (Learner* learner : {trainer_.actor(), trainer_.critic()})
    if (learner) learner->reload();
  if (roles_.reference) move_parameters(roles_.reference->parameters(), device_);
}

}  // namespace roll
