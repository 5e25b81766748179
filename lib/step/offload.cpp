#include "step/offload.h"

namespace roll {

void Offload::put_away() {
  if (!is_on_) return;
  if (Learner* actor = trainer_.actor()) actor->offload(/*keeps_parameters=*/true);
  if (Learner* critic = trainer_.critic()) critic->offload(/*keeps_parameters=*/false);
  for (auto& reference : roles_.references)
    if (reference) move_parameters(reference->parameters(), at::kCPU);
}

void Offload::bring_back() {
  if (!is_on_) return;
  for (Learner* learner : {trainer_.actor(), trainer_.critic()})
    if (learner) learner->reload();
  for (auto& reference : roles_.references)
    if (reference) move_parameters(reference->parameters(), device_);
}

}  // namespace roll
