#include "step/offload.h"

namespace roll {

void Offload::put_away() {
  if (!is_on_) return;
  if (actor_) actor_->put_away();
  if (critic_) critic_->put_away();
  if (roles_.reference) move_parameters(roles_.reference->parameters(), at::kCPU);
}

void Offload::bring_back() {
  if (!is_on_) return;
  if (actor_) actor_->bring_back();
  if (critic_) critic_->bring_back();
  if (roles_.reference) move_parameters(roles_.reference->parameters(), device_);
}

}  // namespace roll
