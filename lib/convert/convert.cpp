#include "convert/convert.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/harmless.h"
#include "convert/table.h"

namespace roll {

namespace {

const ForeignTrainer& choose_trainer(const std::vector<ForeignKey>& keys, const std::string& name) {
  const ForeignTrainer* best = nullptr;
  int64_t most_known = 0;
  for (const ForeignTrainer& trainer : foreign_trainers())
    if (trainer.name == name) return trainer;
  std::vector<std::string> names;
  for (const ForeignTrainer& trainer : rlvr_trainers()) {
    names.emplace_back(trainer.name);
    const int64_t known =
        std::ranges::count_if(keys, [&](const ForeignKey& key) { return find_row(trainer, key.key) != nullptr; });
    if (known > most_known) {
      best = &trainer;
      most_known = known;
    }
  }
  if (!best)
    throw user_error(
        "{}: {}: not a key of {}, and the other keys are unknown too; give a YAML file of one of these trainers, a "
        "script with the command that starts the training, or its arguments",
        keys.front().place, keys.front().key, fmt::join(names, ", "));
  return *best;
}

std::string comment_lines(const std::string& title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = "# " + title + "\n";
  for (const std::string& line : lines) text += "#   " + line + "\n";
  return text + "#\n";
}

}  // namespace

Converted convert_config(const std::vector<ForeignKey>& keys, const std::string& trainer,
                         std::optional<int64_t> num_ranks) {
  if (keys.empty())
    throw UserError(
        "no keys: give a YAML file, a script, or arguments such as data.train_batch_size=1024 or --rollout-batch-size "
        "32");
  for (const ForeignKey& key : keys)
    if (key.key.starts_with("actor_train."))
      throw user_error(
          "{}: {}: a key of ROLL; roll reads ROLL's files without conversion: roll validate-config --offline --config "
          "FILE",
          key.place, key.key);
  const ForeignTrainer& chosen = choose_trainer(keys, trainer);
  Conversion conversion(chosen, keys, num_ranks);
  chosen.combine(conversion);
  conversion.report_unread();
  std::stable_partition(conversion.without.begin(), conversion.without.end(),
                        [](const std::string& line) { return line.find(kNotSupported) != line.npos; });
  // Keep each on one line: they become YAML comments and terminal output.
  for (std::vector<std::string>* lines : {&conversion.differences, &conversion.without})
    for (std::string& line : *lines) line = on_one_line(line);
  const std::string head = fmt::format(
      "# Made by `roll convert-config` from {} keys of {}{}; the comment after each key names its origin.\n#\n",
      keys.size(), chosen.name,
      conversion.command == "train" ? "" : fmt::format(", for `roll {}`", conversion.command));
  return {chosen.name, conversion.command,
          head + comment_lines("What differs in meaning:", conversion.differences) +
              comment_lines("Keys without counterpart:", conversion.without) + "\n" + conversion.draft.yaml(),
          conversion.differences, conversion.without};
}

std::vector<std::string> foreign_trainer_names() {
  std::vector<std::string> names;
  for (const ForeignTrainer& trainer : foreign_trainers()) names.emplace_back(trainer.name);
  return names;
}

}  // namespace roll
