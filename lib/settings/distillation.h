// On-policy distillation (ROLL's OPD): its spellings, who teaches what, and whether a teacher can.
#pragma once

#include <filesystem>

#include "config/checker.h"
#include "model/spec.h"
#include "settings/config.h"

namespace roll {

/// Fills coefficients, models' folders and TeacherConfig::domains, and under is_pure_opd the estimator. Complains about
/// what contradicts distillation, and tags that no domain has or that a teacher shares a domain for.
void complete_distillation(Config& config, Checker& check);

/// A model and the key that names it.
struct NamedSpec {
  const std::optional<std::string>& name;
  const ModelSpec& spec;
};
/// The teacher knows all tokens of the learner, `who`, under the same ids; unless `offline` their tokenizers are read.
void check_teacher(const NamedSpec& teacher, const NamedSpec& learner, const char* who, bool offline, Checker& check);

/// Every token of the policy is the teacher's with the same id, or log-probs would be of other texts. UserError: one
/// that is not; a folder without a tokenizer.
void check_same_tokens(const std::filesystem::path& policy, const std::filesystem::path& teacher);

}  // namespace roll
