#include "step/offload.h"

namespace roll {

void Offload::put_away() {
  if (!is_on_) return;
  for (const char* role : {kPolicyRole, kCriticRole})
    if (Learner* learner = trainer_.learner_of(role)) learner->offload(/*keeps_parameters=*/role == kPolicyRole);
}

void Offload::bring_back() {
  if (!is_on_) return;
  for (const char* role : {kPolicyRole, kCriticRole})
    if (Learner* learner = trainer_.learner_of(role)) learner->reload();
}

}  // namespace roll
