#include "settings/checks.h"

namespace roll {

void note_rotations(const ModelSpec& spec, int64_t longest, const std::string& name, Checker& check) {
  if (!spec.rope.is_long) return;
  check.note(fmt::format(
      "{}: sequences of up to {} tokens are longer than the model's original context ({}): LongRoPE uses long_factor "
      "for all sequences, also for short ones, in sampling and training (like vLLM with such a max_model_len)",
      name, longest, spec.rope.original_positions));
}

}  // namespace roll
