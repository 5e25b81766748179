#include "train/dpo_data.h"

#include <ATen/ATen.h>

#include "text/chat_template.h"
#include "train/sft_data.h"

namespace roll {

LoadedRows<PairRow> load_pair_rows(const DpoConfig& config, const DataArgs& data,
                                   const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                   Progress* progress) {
  if (data.file_name.empty()) return {};
  const auto chat = load_chat_template_once(model_folder, data.template_name.value_or("native"), data.enable_thinking);
  const SftEncoder encoder = sft_encoder(chat, tokenizer);
  return load_rows<PairRow>(
      data, config.sequence_length,
      [&](Row& row, const RowColumns& columns) {
        return encode_pair_row(row, {columns, config.chosen_key, config.rejected_key}, encoder);
      },
      progress);
}

RlStep make_step(const std::vector<PairRow>& pairs, const PlanHome& plan_home, int rank) {
  RlStep step;
  for (int64_t pair = 0; pair < std::ssize(pairs); ++pair)
    for (const auto* response : {&pairs[pair].chosen_ids, &pairs[pair].rejected_ids})
      step.facts.responses.push_back({.group = pair,
                                      .prompt_length = std::ssize(pairs[pair].prompt_ids),
                                      .response_length = std::ssize(*response)});
  step.home = plan_home(step.facts);
  const std::vector<int64_t>& share = step.home.rank_share(rank);
  std::vector<int64_t> ids;
  for (const int64_t sequence : share) {
    const PairRow& row = pairs[sequence / 2];
    const auto& response = sequence % 2 == 0 ? row.chosen_ids : row.rejected_ids;
    ids.insert(ids.end(), row.prompt_ids.begin(), row.prompt_ids.end());
    ids.insert(ids.end(), response.begin(), response.end());
  }
  step.experience = make_experience(step.facts, share, at::tensor(ids, at::kLong));
  return step;
}

}  // namespace roll
