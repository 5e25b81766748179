#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "config/scalar.h"
#include "convert/convert.h"
#include "convert/programs.h"
#include "convert/table.h"

namespace roll {

namespace {

bool has_known_key(const ForeignLaunch& launch) {
  return std::ranges::any_of(launch.keys, [](const ForeignKey& key) {
    return std::ranges::any_of(rlvr_trainers(),
                               [&](const ForeignTrainer& trainer) { return find_row(trainer, key.key) != nullptr; });
  });
}

std::string numbered_list(const std::vector<const ForeignLaunch*>& launches) {
  std::string text;
  for (size_t i = 0; i < launches.size(); ++i) {
    const std::string refusal = refusal_reason(launches[i]->program);
    text += fmt::format("\n  {}. {}: {}, {} keys{}", i + 1, launches[i]->place, launches[i]->program,
                        launches[i]->keys.size(), refusal.empty() ? "" : "; it " + refusal);
  }
  return text;
}

/// Marks TRL's RLOOTrainer, which shares GRPOTrainer's keys but has another objective.
void add_trainer(ForeignLaunch& launch) {
  if (lower_ascii(launch.program.substr(launch.program.rfind('/') + 1)).find("rloo") != std::string::npos)
    launch.keys.insert(launch.keys.begin(), {"rloo_trainer", "true", launch.place, ""});
}

/// Adds the number of processes on all machines, from the flags of torchrun or accelerate.
void add_processes(ForeignLaunch& launch) {
  const ForeignKey *per_machine = nullptr, *machines = nullptr;
  for (ForeignKey& key : launch.launcher) {
    std::string name = key.key;
    std::ranges::replace(name, '-', '_');
    if (name == "num_processes" || name == "config_file")
      launch.keys.insert(launch.keys.begin(), {name, key.value, key.place, key.unknown});
    if (name == "nproc_per_node") per_machine = &key;
    if (name == "nnodes" || name == "num_machines") machines = &key;
  }
  if (!per_machine) return;
  const auto processes = parse_number(per_machine->value), nodes = parse_number(machines ? machines->value : "1");
  const bool is_known = processes && nodes;
  const std::string unknown = !per_machine->unknown.empty() ? per_machine->unknown : machines ? machines->unknown : "";
  launch.keys.insert(launch.keys.begin(),
                     {"num_processes", is_known ? fmt::format("{}", *processes * *nodes) : per_machine->value,
                      per_machine->place, unknown});
}

}  // namespace

ForeignLaunch choose_launch(const ForeignScript& script, const std::string& origin, std::optional<int64_t> pick) {
  std::vector<const ForeignLaunch*> trainer_launches, convertible_launches;
  for (const ForeignLaunch& launch : script.launches) {
    const bool is_other = !refusal_reason(launch.program).empty();
    if (!is_other && find_trainer_name(launch.program).empty() && !has_known_key(launch)) continue;
    trainer_launches.push_back(&launch);
    if (!is_other) convertible_launches.push_back(&launch);
  }
  if (trainer_launches.empty())
    throw user_error("{}: no command in it starts a known trainer with settings{}", origin,
                     script.ended.empty() ? "" : fmt::format("; the script ends at the `exit` of {}", script.ended));
  const ForeignLaunch* chosen = convertible_launches.empty()       ? trainer_launches[0]
                                : convertible_launches.size() == 1 ? convertible_launches[0]
                                                                   : nullptr;
  if (pick) {
    if (*pick > static_cast<int64_t>(trainer_launches.size()))
      throw user_error("--pick = {}: {} has {} commands that start a training:{}", *pick, origin,
                       trainer_launches.size(), numbered_list(trainer_launches));
    chosen = trainer_launches[static_cast<size_t>(*pick) - 1];
  }
  if (!chosen)
    throw user_error("{}: {} commands start a training; choose one with --pick:{}", origin, trainer_launches.size(),
                     numbered_list(trainer_launches));
  if (const std::string refusal = refusal_reason(chosen->program); !refusal.empty())
    throw user_error("{}: {}: {}", chosen->place, chosen->program, refusal);
  ForeignLaunch launch = *chosen;
  launch.trainer = find_trainer_name(launch.program);
  add_processes(launch);
  add_trainer(launch);
  return launch;
}

}  // namespace roll
