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
                   "samples or measures, and trains nothing; roll generate samples, roll evaluate measures"},
    RefusedProgram{"vlm", "trains on images; roll reads text only"},
    RefusedProgram{
        "agent",
        "lets the model act in several turns; roll train does so with train_env_manager (configs/agentic.md), and such "
        "settings are not converted"},
    RefusedProgram{
        "distill gkd gold ssd minillm sdft sdpo train_kd",
        "distils one model into another; roll train does so on the policy's own responses with is_pure_opd, roll "
        "distill on written ones (configs/distillation.md), and such settings are not converted"},
    RefusedProgram{"online_dpo cpo orpo kto bco xpo nash_md tpo simpo",
                   "trains on preferences by a loss that is not here; `roll dpo` has those of DPO, cDPO and IPO"},
    RefusedProgram{"dpo",
                   "trains on preferences (DPO); `roll dpo` does so, with keys of its own (configs/dpo.md), and such "
                   "settings are not converted"},
    RefusedProgram{"reward_model train_rm prm reward.py", "trains a reward model, which roll does not"},
    RefusedProgram{"sft", "fine-tunes on responses; `roll sft` does so, with keys of its own"},
    RefusedProgram{"async_grpo experimental main_ppo_split",
                   "is a trainer of its own, whose keys may mean something else"},
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
