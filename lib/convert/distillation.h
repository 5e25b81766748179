// Converts on-policy distillation (learning from a teacher's log-probs of sampled responses), for verl and slime.
#pragma once

#include <string>

#include "convert/table.h"

namespace roll {

struct Distillation {
  bool is_pure = false;  // no rewards are used
  std::string teacher;   // the teacher's model; empty: the user must set it
  std::string teacher_origin;
  std::string weight = "1";     // coefficient of the KL
  std::string estimate = "kl";  // KL estimator, by roll's name
  std::string origin;           // origin of the setting that turns distillation on
};

/// Sets the distillation. Call it before set_roles() and after the reference's layout is set, which the teacher copies.
void set_distillation(Conversion& conversion, const Distillation& distillation);

}  // namespace roll
