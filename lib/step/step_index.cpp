#include "step/step_index.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "dist/messages.h"
#include "records/messages.h"
#include "reward/reward.h"

namespace roll {

Turns record_turns(const RolloutRecord& record) {
  Turns turns;
  int32_t begin = 0;
  for (const Turn& turn : record.turns) {
    const auto end = begin + static_cast<int32_t>(turn.num_tokens);
    turns.push_back({.begin = begin,
                     .end = end,
                     .state = static_cast<uint32_t>(turn.state),
                     .reward = turn.reward,
                     .is_fresh = turn.is_fresh});
    begin = end + static_cast<int32_t>(turn.num_environment_tokens);
  }
  return turns;
}

FactsMessage facts_message(const std::vector<RolloutRecord>& records, bool with_parts) {
  FactsMessage message;
  for (const RolloutRecord& r : records) {
    message.responses.push_back({.group = r.group_index,
                                 .sample = r.sample_index,
                                 .prompt_length = std::ssize(r.prompt_ids),
                                 .response_length = std::ssize(r.response_ids),
                                 .score = r.score,
                                 .reward = r.reward,
                                 .difficulty = r.difficulty,
                                 .domain = r.domain,
                                 .is_judged = r.is_judged,
                                 .is_truncated = r.finish_reason == "length",
                                 .is_baseline = r.is_baseline,
                                 .turns = record_turns(r)});
    if (with_parts && r.is_judged && !reward_failure(r.reward_detail))
      message.responses.back().parts = reward_parts(r.reward_detail, r.reward);
  }
  return message;
}

namespace {

struct HeldResponse {
  ResponseFacts facts;
  int rank = 0;
  auto key() const { return std::tuple(facts.group, facts.sample); }
};

}  // namespace

StepIndex make_step_index(std::vector<RolloutRecord>& local, Communicator& world, bool with_parts) {
  sort_records(local);
  std::vector<HeldResponse> held;
  auto messages = all_gather_messages(facts_message(local, with_parts), world);
  for (int rank = 0; rank < world.size(); ++rank)
    for (ResponseFacts& facts : messages[rank].responses) held.push_back({std::move(facts), rank});
  std::ranges::sort(held, {}, &HeldResponse::key);
  std::map<int64_t, const ResponseFacts*> baselines;  // group -> baseline
  for (size_t i = 0; i < held.size(); ++i) {
    const ResponseFacts& facts = held[i].facts;
    if (i > 0 && held[i - 1].key() == held[i].key())
      throw user_error("response {} of group {} exists twice: on ranks {} and {}", facts.sample, facts.group,
                       held[i - 1].rank, held[i].rank);
    if (facts.is_baseline) baselines[facts.group] = &facts;
  }
  StepIndex step;
  step.holders.shares.resize(world.size());
  for (int rank = 0; rank < world.size(); ++rank) step.holders.ranks.push_back({rank});
  for (const auto& [facts, rank] : held) {
    if (facts.is_baseline) continue;
    step.holders.shares[rank].push_back(step.facts.num_sequences());
    ResponseFacts& response = step.facts.responses.emplace_back(facts);
    if (baselines.empty()) continue;
    const auto baseline = baselines.find(facts.group);
    ROLL_CHECK(baseline != baselines.end(), "either all groups have a baseline, or none");
    response.baseline = baseline->second->reward;
    response.is_judged = facts.is_judged && baseline->second->is_judged;
  }
  return step;
}

namespace {

/// Returns [T, width] int16; -1 where a record has no choice.
at::Tensor pack_routed_experts(const std::vector<RolloutRecord>& records, const PackedTokens& tokens, int64_t width) {
  at::Tensor experts = at::full({tokens.num_tokens(), width}, -1, at::kShort);
  auto* const expert = experts.mutable_data_ptr<int16_t>();
  size_t sequence = 0;
  for (const RolloutRecord& record : records)
    if (!record.is_baseline) std::ranges::copy(record.routed_experts, expert + tokens.cu_seqlens[sequence++] * width);
  return experts;
}

}  // namespace

Experience make_experience(const std::vector<RolloutRecord>& local, const StepFacts& step,
                           const std::vector<int64_t>& share, int64_t num_experts) {
  std::vector<int64_t> ids;
  std::vector<float> log_probs;
  for (const RolloutRecord& record : local) {
    if (record.is_baseline) continue;
    ids.insert(ids.end(), record.prompt_ids.begin(), record.prompt_ids.end());
    ids.insert(ids.end(), record.response_ids.begin(), record.response_ids.end());
    log_probs.insert(log_probs.end(), record.prompt_ids.size() - 1, 0.0F);
    log_probs.insert(log_probs.end(), record.log_probs.begin(), record.log_probs.end());
    log_probs.push_back(0.0F);
  }
  Experience experience = make_experience(step, share, at::tensor(ids, at::kLong));
  experience.sampler_log_probs = at::tensor(log_probs, at::kFloat);
  if (num_experts > 0) experience.tokens.routed_experts = pack_routed_experts(local, experience.tokens, num_experts);
  return experience;
}

}  // namespace roll
