#include "train/dpo_data.h"

#include <ATen/ATen.h>

#include "text/chat_template.h"
#include "train/sft_data.h"

namespace roll {

LoadedRows<PairRow> load_pair_rows(const DpoConfig& config, const DataArgs& data,
                                   const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                   Progress* progress) {
  if (data.file_name.empty()) return {};
  const auto chat = chat_of(model_folder, data.template_name.value_or("native"), data.enable_thinking);
  const SftEncoder encoder = sft_encoder(chat, tokenizer);
  return load_rows<PairRow>(
      data, config.sequence_length,
      [&](Row& row, const RowColumns& columns) {
        return encode_pair_row(row, {columns, config.chosen_key, config.rejected_key}, encoder);
      },
      progress);
}

RlStep step_of(const std::vector<PairRow>& pairs, const BatchRule& rule, RoleMesh& role) {
  RlStep step;
  StepFacts& facts = step.facts;
  for (int64_t pair = 0; pair < std::ssize(pairs); ++pair)
    for (const auto* response : {&pairs[pair].chosen_ids, &pairs[pair].rejected_ids}) {
      facts.group_index.push_back(pair);
      facts.prompt_lengths.push_back(std::ssize(pairs[pair].prompt_ids));
      facts.response_lengths.push_back(std::ssize(*response));
    }
  const size_t num_sequences = facts.group_index.size();
  facts.scores.resize(num_sequences);
  facts.rewards.resize(num_sequences);
  facts.domains.resize(num_sequences);
  facts.judged.assign(num_sequences, 1);
  facts.truncated.resize(num_sequences);
  facts.difficulties.resize(num_sequences);
  step.home = {world_groups(role), shares_of({plan_ranks(facts.sizes(), rule, role.dp_size())})};
  const std::vector<int64_t>& share = step.home.share_of(role.world().rank());
  std::vector<int64_t> ids;
  for (const int64_t sequence : share) {
    const PairRow& row = pairs[sequence / 2];
    const auto& response = sequence % 2 == 0 ? row.chosen_ids : row.rejected_ids;
    ids.insert(ids.end(), row.prompt_ids.begin(), row.prompt_ids.end());
    ids.insert(ids.end(), response.begin(), response.end());
  }
  step.here = make_experience(facts, share, at::tensor(ids, at::kLong));
  return step;
}

}  // namespace roll
