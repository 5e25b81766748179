// Which training a file describes, by its keys.
#include "base/file.h"
#include "config/load.h"
#include "settings/load_config.h"

namespace roll {

std::string command_of(const std::filesystem::path& file) {
  std::vector<std::string> notes;
  const Node tree = read_tree(read_file(file), file.string(), {}, notes);
  if (tree.kind != Node::Kind::kMap) return "train";
  DpoConfig dpo;
  SftConfig sft;
  const KeyIndex of_dpo(dpo, {}, ""), of_sft(sft, {}, "");
  const auto has = [&](const KeyIndex& keys, const auto& member) { return tree.find(keys.path(member)) != nullptr; };
  if (has(of_sft, sft.sft_train)) return "sft";
  const bool names_pairs = has(of_dpo, dpo.beta) || has(of_dpo, dpo.ipo) || has(of_dpo, dpo.label_smoothing) ||
                           has(of_dpo, dpo.chosen_key) || has(of_dpo, dpo.rejected_key);
  return names_pairs && !tree.find("rewards") ? "dpo" : "train";
}

}  // namespace roll
