#include "step/token_samples.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "records/informative_groups.h"
#include "rollout/growing_text.h"

namespace roll {

namespace {

std::vector<int64_t> choose_sequences(const StepFacts& facts, int64_t count) {
  std::vector<ScoredResponse> responses;
  for (const ResponseFacts& response : facts.responses)
    responses.push_back({response.group, response.score, response.is_judged});
  return informative_responses(responses, count);
}

std::vector<int64_t> response_ids(const Experience& experience, int64_t index) {
  const int64_t begin = experience.tokens.cu_seqlens[index] + experience.responses[index].prompt_length;
  const int64_t* const ids = experience.tokens.ids.const_data_ptr<int64_t>() + begin;
  return {ids, ids + experience.responses[index].response_length};
}

}  // namespace

TokenSamples::TokenSamples(const RlStep& step, int64_t count, RoleMesh& actor) : step_(step) {
  if (count == 0 || !actor.is_here() || !actor.mesh().is_leader()) return;
  share_ = {.index = actor.mesh().place().dp, .count = actor.dp_size()};
  const std::vector<int64_t>& home = step.home.rank_share(actor.world().rank());
  for (const int64_t sequence : choose_sequences(step.facts, count))
    if (const auto found = std::ranges::find(home, sequence); found != home.end())
      local_index_[sequence] = found - home.begin();
}

void TokenSamples::take(const Experience& micro_batch, const at::Tensor& log_probs) {
  for (size_t i = 0; i < micro_batch.sequence_index.size(); ++i) {
    const int64_t sequence = micro_batch.sequence_index[i];
    if (!local_index_.contains(sequence) || log_probs_.contains(sequence)) continue;
    // Copy on the device: nothing waits, and the micro-batch's memory can be freed.
    log_probs_[sequence] = response_part(micro_batch, log_probs.detach(), static_cast<int64_t>(i)).clone();
  }
}

void TokenSamples::write(const std::filesystem::path& folder, const Tokenizer& tokenizer) const {
  if (local_index_.empty()) return;
  const Experience& experience = step_.experience;
  const std::vector<std::pair<const char*, at::Tensor>> columns = {
      {"sampler_log_probs", experience.sampler_log_probs}, {"old_log_probs", experience.old_log_probs},
      {"ref_log_probs", experience.ref_log_probs},         {"values", experience.values},
      {"token_rewards", experience.token_rewards},         {"advantages", experience.advantages}};
  std::string lines;
  for (const auto& [sequence, index] : local_index_) {
    const ResponseFacts& response = step_.facts.responses[sequence];
    Json line{{"step", step_.number},
              {"group_index", response.group},
              {"sample_index", response.sample},
              {"domain", response.domain},
              {"score", json_float(response.score)},
              {"reward", json_float(response.reward)},
              {"tokens", token_texts(response_ids(experience, index), tokenizer)}};
    for (const auto& [name, tensor] : columns)
      if (tensor.defined()) line[name] = number_list(response_part(experience, tensor, index));
    if (const auto found = log_probs_.find(sequence); found != log_probs_.end())
      line["log_probs"] = number_list(found->second);
    lines += to_line(line) + "\n";
  }
  make_folder(folder);
  write_file_atomic(numbered(folder, "step_", step_.number, part_suffix(share_)), lines);
}

Json number_list(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kCPU, at::kFloat).contiguous();
  Json list = Json::array();
  for (int64_t i = 0; i < values.numel(); ++i) list.push_back(json_float(values.const_data_ptr<float>()[i]));
  return list;
}

std::vector<std::string> token_texts(const std::vector<int64_t>& ids, const Tokenizer& tokenizer) {
  const DecodeText decode = [&](std::span<const int64_t> prefix, bool skip_special) {
    return tokenizer.decode(prefix, skip_special, /*more_follows=*/true);
  };
  std::vector<std::string> texts;
  GrowingText growing;
  size_t num_shown = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string& text = growing.grow({ids.data(), i + 1}, /*skip_special=*/false, decode);
    texts.push_back(text.substr(num_shown));
    num_shown = text.size();
  }
  if (!ids.empty()) texts.back() += tokenizer.decode(ids).substr(num_shown);
  return texts;
}

}  // namespace roll
