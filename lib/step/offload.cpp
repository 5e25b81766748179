#include "step/offload.h"

namespace roll {

void Offload::put_away() {
  if (!is_on_) return;
  if (Learner* actor = trainer_.actor()) actor->offload(/*keeps_parameters=*/true);
  if (Learner* critic = trainer_.critic()) critic->offload(/*keeps_parameters=*/false);
}

void Offload::bring_back() {
  if (!is_on_) return;
  for (Learner* learner : {trainer_.actor(), trainer_.critic()})
    if (learner) learner->reload();
}

}  // namespace roll
