// Completes and checks the keys of on-policy distillation (ROLL's OPD: the policy's own responses are trained towards
// teachers), for complete() and load_config(). Errors and notes go to `check`.
#pragma once

#include <filesystem>

#include "config/checker.h"
#include "model/spec.h"
#include "settings/config.h"

namespace roll {

/// Completes the keys of distillation, as part of complete(). Each teacher without opd_kl_coef gets the one at the top
/// level, or 1. With is_pure_opd: true, an unset adv_estimator becomes reinforce. If a teacher has tag_included,
/// TeacherConfig::domains becomes the list of domains that it teaches.
///
/// A domain (rewards.DOMAIN) lists the tags of its rows; a teacher's tag_included names tags, or domains with all their
/// tags. A teacher teaches all rows of a domain or none. So the function records an error if a teacher names only
/// some tags of a domain. It also does so for a tag that no domain has, and for keys that contradict distillation.
void complete_distillation(Config& config, Checker& check);

/// A model that the configuration names.
struct NamedSpec {
  /// The member model_name_or_path of the configuration: folder or Hub name. Errors show the place of this key.
  const std::optional<std::string>& name;
  const ModelSpec& spec;  // the model's architecture and sizes
};
/// Checks that the teacher has all tokens of the learner (the policy or student) under the same ids. `learner_name`:
/// "policy" or "student", for messages. If `offline` is true, it only checks that the teacher's vocab_size is not
/// smaller. Otherwise it also calls check_same_tokens(), and both names must be set.
void check_teacher(const NamedSpec& teacher, const NamedSpec& learner, const char* learner_name, bool offline,
                   Checker& check);

/// Reads the tokenizers of both model folders. Throws UserError if the teacher has another token than the policy under
/// one of the policy's ids, or has none there. Also throws it if a folder has no tokenizer.
void check_same_tokens(const std::filesystem::path& policy, const std::filesystem::path& teacher);

}  // namespace roll
