// What a judge is asked: a template with three named fields, filled once.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "reward/judge/prompt_names.h"
#include "reward/judge/verdict.h"
#include "reward/reward.h"

namespace roll {

/// A template's text: {question}, {response} and {reference} are its fields; all other braces are themselves.
std::string_view template_text(JudgeTemplate name);
/// A grade, or YES or NO.
Asked asked_by(JudgeTemplate name);

/// What the fields are filled with, character by character: nothing in it is a field, or anything else, again.
struct JudgeQuestion {
  std::string_view question, response, reference;
};

class JudgePrompt {
 public:
  /// UserError (a rule without key and place): `text` has no {response}, so that nothing would be judged.
  explicit JudgePrompt(std::string_view text);

  /// One message of the user: [{"role": "user", "content": ...}].
  Json messages(const JudgeQuestion& question) const;
  /// Whether a row without a reference leaves a hole in it.
  bool needs_reference() const;

 private:
  enum class Field { kQuestion, kResponse, kReference };
  struct Part {
    std::string text;
    std::optional<Field> field{};  // behind the text
  };
  std::vector<Part> parts_;
};

/// The last message of the user; where there is none, the prompt.
std::string question_of(const RewardQuery& query);

}  // namespace roll
