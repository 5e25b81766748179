#include "train/dpo_data.h"

#include <ATen/ATen.h>

#include "data/row_files.h"
#include "text/chat_template.h"
#include "train/sft_data.h"

namespace roll {

PairRows load_pair_rows(const DpoConfig& config, const DataArgs& data, const std::filesystem::path& model_folder,
                        const Tokenizer& tokenizer) {
  if (data.file_name.empty()) return {};
  const auto chat = ChatTemplate::load(model_folder, data.template_name.value_or("native"), data.enable_thinking);
  DroppedRows dropped;
  const auto read = read_rows(data);
  auto rows = encode_pair_rows(read, config.chosen_key, config.rejected_key, sft_encoder(chat, tokenizer),
                               config.sequence_length, data.preprocessing_num_workers, dropped);
  return {std::move(rows), dropped.total(), keyed_rows(read)};
}

RlStep step_of(const std::vector<PairRow>& rows, const std::vector<int64_t>& pairs, const BatchRule& rule,
               RoleMesh& role) {
  RlStep step;
  StepFacts& facts = step.facts;
  for (int64_t pair = 0; pair < std::ssize(pairs); ++pair)
    for (const auto* response : {&rows[pairs[pair]].chosen_ids, &rows[pairs[pair]].rejected_ids}) {
      facts.group_index.push_back(pair);
      facts.prompt_lengths.push_back(std::ssize(rows[pairs[pair]].prompt_ids));
      facts.response_lengths.push_back(std::ssize(*response));
    }
  const size_t num_sequences = facts.group_index.size();
  facts.scores.resize(num_sequences);
  facts.rewards.resize(num_sequences);
  facts.domains.resize(num_sequences);
  facts.judged.assign(num_sequences, 1);
  facts.truncated.resize(num_sequences);
  facts.difficulties.resize(num_sequences);
  step.home = {world_groups(role), shares_of({plan_ranks(facts.lengths(), rule, role.dp_size())})};
  const std::vector<int64_t>& share = step.home.share_of(role.world().rank());
  std::vector<int64_t> ids;
  for (const int64_t sequence : share) {
    const PairRow& row = rows[pairs[sequence / 2]];
    const auto& response = sequence % 2 == 0 ? row.chosen_ids : row.rejected_ids;
    ids.insert(ids.end(), row.prompt_ids.begin(), row.prompt_ids.end());
    ids.insert(ids.end(), response.begin(), response.end());
  }
  step.here = make_experience(facts, share, at::tensor(ids, at::kLong));
  return step;
}

}  // namespace roll
