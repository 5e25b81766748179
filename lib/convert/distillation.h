// Converts on-policy distillation (learning from a teacher's log-probs of sampled responses), for the converters of
// verl and slime.
#pragma once

#include <string>

#include "convert/table.h"

namespace roll {

/// Settings as texts for roll's YAML. An origin is the comment next to a key, as returned by Conversion::origin().
struct Distillation {
  bool is_pure = false;         // the teacher is the only signal; rewards are not used
  std::string teacher;          // the teacher's model folder; empty: a placeholder is written and reported to the user
  std::string teacher_origin;   // origin of `teacher`
  std::string weight = "1";     // coefficient of the KL to the teacher
  std::string estimate = "kl";  // KL estimator, a value of roll's kl_penalty: "kl" (k1), "k3", "mse", "abs"
  std::string origin;           // origin of the setting that turns distillation on
};

/// Writes roll's keys of distillation and of the role `teacher` to the draft. The teacher copies the keys reference.*,
/// so call it after those are set and before set_roles(), which may remove them.
void set_distillation(Conversion& conversion, const Distillation& distillation);

}  // namespace roll
