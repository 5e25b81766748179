#include "convert/programs.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/nearest.h"

namespace roll {

namespace {

struct RefusedProgram {
  const char* name_parts;  // separated by blanks; parts of program names
  const char* reason;
};

// The first matching row wins.
constexpr std::array kRefusedPrograms{
    RefusedProgram{"serve_rm main_generation main_eval vllm-serve vllm_serve data_preprocess model_merger",
                   "samples or evaluates, and does not train; use roll generate or roll evaluate"},
    RefusedProgram{"vlm", "trains on images; roll reads text only"},
    RefusedProgram{"agent",
                   "lets the model act in several turns, which is not converted; use roll train with train_env_manager "
                   "(configs/agentic.md)"},
    RefusedProgram{"distill gkd gold ssd minillm sdft sdpo train_kd",
                   "distils one model into another, which is not converted; use roll train with is_pure_opd (on "
                   "sampled responses) or roll distill (on given responses), see configs/distillation.md"},
    RefusedProgram{"online_dpo cpo orpo kto bco xpo nash_md tpo simpo",
                   "trains on preferences with a loss that is not supported; `roll dpo` has DPO, cDPO and IPO"},
    RefusedProgram{"dpo", "trains on preferences (DPO), which is not converted; use `roll dpo` (configs/dpo.md)"},
    RefusedProgram{"reward_model train_rm prm reward.py", "trains a reward model, which roll does not"},
    RefusedProgram{"sft", "fine-tunes on responses, which is not converted; use `roll sft`"},
    RefusedProgram{"async_grpo experimental main_ppo_split",
                   "is a different trainer, whose keys may have other meanings"},
};

/// Programs whose trainings `roll sft` and `roll dpo` do, by a part of the name.
constexpr std::pair<std::string_view, const char*> kTrainerPrograms[] = {
    {"sft_trainer", "verl-sft"},
    {"openrlhf.cli.train_sft", "openrlhf-sft"},
    {"openrlhf.cli.train_dpo", "openrlhf-dpo"},
};
/// More such programs, by the whole name.
constexpr std::pair<std::string_view, const char*> kTrainerNames[] = {
    {"dpo.py", "trl-dpo"}, {"trl dpo", "trl-dpo"}, {"dpoconfig", "trl-dpo"}, {"dpotrainer", "trl-dpo"}};

}  // namespace

std::string find_trainer_name(const std::string& program) {
  const std::string name = lower_ascii(program.substr(program.rfind('/') + 1));
  for (const auto& [whole, trainer] : kTrainerNames)
    if (name == whole) return trainer;
  const auto* const known =
      std::ranges::find_if(kTrainerPrograms, [&](const auto& row) { return name.find(row.first) != name.npos; });
  return known == std::end(kTrainerPrograms) ? "" : known->second;
}

std::string refusal_reason(const std::string& program) {
  if (!find_trainer_name(program).empty()) return "";
  const std::string name = lower_ascii(program.substr(program.rfind('/') + 1));
  for (const RefusedProgram& row : kRefusedPrograms)
    for (std::string_view rest = row.name_parts; !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      if (name.find(word) != name.npos) return row.reason;
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
  return "";
}

}  // namespace roll
