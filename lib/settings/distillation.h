// Completes and checks the keys of on-policy distillation (ROLL's OPD), for complete() and load_config().
#pragma once

#include <filesystem>

#include "config/checker.h"
#include "model/spec.h"
#include "settings/config.h"

namespace roll {

/// Fills opd_kl_coef and TeacherConfig::domains of each teacher, and under is_pure_opd the estimator. Complains about
/// keys that contradict distillation, tags without a domain, and teachers that name only some tags of a domain.
void complete_distillation(Config& config, Checker& check);

/// Shape of a model, and the key that names its folder.
struct NamedSpec {
  const std::optional<std::string>& name;
  const ModelSpec& spec;
};
/// Checks that the teacher has all tokens of the learner under the same ids. `learner_name`: the learner's name in
/// messages. Reads both tokenizers unless `offline`.
void check_teacher(const NamedSpec& teacher, const NamedSpec& learner, const char* learner_name, bool offline,
                   Checker& check);

/// Checks that every token of the policy has the same id in the teacher. UserError: a token differs, or a folder has no
/// tokenizer.
void check_same_tokens(const std::filesystem::path& policy, const std::filesystem::path& teacher);

}  // namespace roll
