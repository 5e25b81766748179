// On-policy distillation: the policy learns from a teacher's log-probs of its own responses.
#pragma once

#include <string>

#include "convert/table.h"

namespace roll {

struct Distillation {
  bool is_pure = false;  // rewards teach nothing
  std::string teacher;   // its model; empty: it must be set by hand
  std::string teacher_origin;
  std::string weight = "1";     // of the KL
  std::string estimate = "kl";  // of the KL, by our name
  std::string origin;           // of the distillation
};

/// To be called when the layout of the reference is set, which the teacher takes over, and before set_roles().
void set_distillation(Conversion& conversion, const Distillation& distillation);

}  // namespace roll
