#include "convert/programs.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/nearest.h"

namespace roll {

namespace {

struct ProgramRow {
  const char* names;  // separated by blanks; parts of program names
  const char* kind;
};

// The first matching row wins.
constexpr std::array kPrograms{
    ProgramRow{"serve_rm main_generation main_eval vllm-serve vllm_serve data_preprocess model_merger",
               "samples or measures, and trains nothing; roll generate samples, roll evaluate measures"},
    ProgramRow{"vlm", "trains on images; roll reads text only"},
    ProgramRow{
        "agent",
        "lets the model act in several turns; roll train does so with train_env_manager (configs/agentic.md), and such "
        "settings are not converted"},
    ProgramRow{
        "distill gkd gold ssd minillm sdft sdpo train_kd",
        "distils one model into another; roll train does so on the policy's own responses with is_pure_opd, roll "
        "distill on written ones (configs/distillation.md), and such settings are not converted"},
    ProgramRow{"online_dpo cpo orpo kto bco xpo nash_md tpo simpo",
               "trains on preferences by a loss that is not here; `roll dpo` has those of DPO, cDPO and IPO"},
    ProgramRow{"dpo",
               "trains on preferences (DPO); `roll dpo` does so, with keys of its own (configs/dpo.md), and such "
               "settings are not converted"},
    ProgramRow{"reward_model train_rm prm reward.py", "trains a reward model, which roll does not"},
    ProgramRow{"sft", "fine-tunes on responses; `roll sft` does so, with keys of its own"},
    ProgramRow{"async_grpo experimental main_ppo_split", "is a trainer of its own, whose keys may mean something else"},
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

std::string trainer_of_program(const std::string& program) {
  const std::string name = lower_ascii(program.substr(program.rfind('/') + 1));
  for (const auto& [whole, trainer] : kTrainerNames)
    if (name == whole) return trainer;
  const auto* const known =
      std::ranges::find_if(kTrainerPrograms, [&](const auto& row) { return name.find(row.first) != name.npos; });
  return known == std::end(kTrainerPrograms) ? "" : known->second;
}

std::string other_program_kind(const std::string& program) {
  if (!trainer_of_program(program).empty()) return "";
  const std::string name = lower_ascii(program.substr(program.rfind('/') + 1));
  for (const ProgramRow& row : kPrograms)
    for (std::string_view rest = row.names; !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      if (name.find(word) != name.npos) return row.kind;
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
  return "";
}

}  // namespace roll
