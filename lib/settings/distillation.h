// Completes and checks the keys of on-policy distillation (ROLL's OPD: the policy's own responses are trained towards
// teachers), for complete() and load_config(). Errors and notes go to `check`.
#pragma once

#include <filesystem>

#include "config/checker.h"
#include "model/spec.h"
#include "settings/config.h"

namespace roll {

/// Fills opd_kl_coef and TeacherConfig::domains of each teacher; with is_pure_opd: true, also adv_estimator. Records
/// errors for keys that contradict distillation, tags without a domain, and teachers that name only some tags of a
/// domain. Part of complete().
void complete_distillation(Config& config, Checker& check);

/// A model of the configuration.
struct NamedSpec {
  const std::optional<std::string>& name;  // the member model_name_or_path: folder or Hub name
  const ModelSpec& spec;                   // shape
};
/// Checks that the teacher has all tokens of the learner (the policy or student) under the same ids. `learner_name`:
/// "policy" or "student", for messages. Unless `offline`, reads both tokenizers; otherwise compares only vocab_size.
void check_teacher(const NamedSpec& teacher, const NamedSpec& learner, const char* learner_name, bool offline,
                   Checker& check);

/// Reads the tokenizers of both model folders. Throws UserError if a token of the policy has another id in the teacher,
/// or if a folder has no tokenizer.
void check_same_tokens(const std::filesystem::path& policy, const std::filesystem::path& teacher);

}  // namespace roll
