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

namespace {

using Fact = FactsMessage::Fact;

}  // namespace

Turns turns_of(const RolloutRecord& record) {
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
  const bool has_turns = std::ranges::any_of(records, [](const RolloutRecord& r) { return !r.turns.empty(); });
  std::map<std::string, uint32_t> domains;
  for (const RolloutRecord& r : records) {
    const auto [domain, is_new] = domains.try_emplace(r.domain, static_cast<uint32_t>(domains.size()));
    if (is_new) message.domains.push_back(r.domain);
    message.facts.push_back({.group = static_cast<int32_t>(r.group_index),
                             .sample = static_cast<int32_t>(r.sample_index),
                             .prompt_length = static_cast<int32_t>(r.prompt_ids.size()),
                             .response_length = static_cast<int32_t>(r.response_ids.size()),
                             .score = r.score,
                             .reward = r.reward,
                             .difficulty = r.difficulty,
                             .domain = domain->second,
                             .is_baseline = r.is_baseline,
                             .is_judged = r.is_judged,
                             .is_truncated = r.finish_reason == "length"});
    if (has_turns) message.turns.push_back(turns_of(r));
    if (!with_parts) continue;
    message.parts.emplace_back();
    if (r.is_judged && !failure_of(r.reward_detail)) message.parts.back() = parts_of(r.reward_detail, r.reward);
  }
  return message;
}

namespace {

struct KnownFact {
  Fact fact;
  std::string domain;
  int rank = 0;
  std::vector<RewardPart> parts{};
  Turns turns{};
  auto key() const { return std::tuple(fact.group, fact.sample); }
};

}  // namespace

StepIndex index_of(std::vector<RolloutRecord>& mine, Communicator& world, bool with_parts) {
  sort_records(mine);
  std::vector<KnownFact> known;
  const auto messages = all_gather_messages(facts_message(mine, with_parts), world);
  for (int rank = 0; rank < world.size(); ++rank)
    for (size_t i = 0; i < messages[rank].facts.size(); ++i) {
      const Fact& fact = messages[rank].facts[i];
      ROLL_CHECK(fact.domain < messages[rank].domains.size(), "a fact's domain comes with it");
      known.push_back({fact, messages[rank].domains[fact.domain], rank});
      if (!messages[rank].turns.empty()) {
        ROLL_CHECK_EQ(messages[rank].turns.size(), messages[rank].facts.size(), "a fact's turns come with it");
        known.back().turns = messages[rank].turns[i];
      }
      if (!with_parts) continue;
      ROLL_CHECK(i < messages[rank].parts.size(), "a fact's parts come with it");
      known.back().parts = messages[rank].parts[i];
    }
  std::ranges::sort(known, {}, &KnownFact::key);
  std::map<int32_t, const Fact*> baselines;  // by group
  for (size_t i = 0; i < known.size(); ++i) {
    const Fact& fact = known[i].fact;
    if (i > 0 && known[i - 1].key() == known[i].key())
      throw user_error("response {} of group {} is there twice: on ranks {} and {}", fact.sample, fact.group,
                       known[i - 1].rank, known[i].rank);
    if (fact.is_baseline) baselines[fact.group] = &fact;
  }
  StepIndex step;
  step.holders.shares.resize(world.size());
  for (int rank = 0; rank < world.size(); ++rank) step.holders.ranks.push_back({rank});
  StepFacts& facts = step.facts;
  const bool has_turns = std::ranges::any_of(known, [](const KnownFact& one) { return !one.turns.empty(); });
  for (const auto& [fact, domain, rank, parts, turns] : known) {
    if (fact.is_baseline) continue;
    step.holders.shares[rank].push_back(facts.num_sequences());
    facts.group_index.push_back(fact.group);
    facts.prompt_lengths.push_back(fact.prompt_length);
    facts.response_lengths.push_back(fact.response_length);
    facts.scores.push_back(fact.score);
    facts.rewards.push_back(fact.reward);
    if (with_parts) facts.parts.push_back(parts);
    if (has_turns) facts.turns.push_back(turns);
    facts.domains.push_back(domain);
    facts.truncated.push_back(fact.is_truncated);
    facts.difficulties.push_back(fact.difficulty);
    const auto baseline = baselines.find(fact.group);
    const bool has_baseline = baseline != baselines.end();
    if (has_baseline) facts.baselines.push_back(baseline->second->reward);
    facts.judged.push_back(fact.is_judged && (!has_baseline || baseline->second->is_judged));
  }
  ROLL_CHECK(facts.baselines.empty() || std::ssize(facts.baselines) == facts.num_sequences(),
             "either all groups have a baseline, or none");
  return step;
}

namespace {

/// [T, width] int16, -1 where a record does not say.
at::Tensor routed_experts_of(const std::vector<RolloutRecord>& records, const PackedTokens& tokens, int64_t width) {
  at::Tensor all = at::full({tokens.num_tokens(), width}, -1, at::kShort);
  auto* const numbers = all.mutable_data_ptr<int16_t>();
  size_t sequence = 0;
  for (const RolloutRecord& record : records)
    if (!record.is_baseline) std::ranges::copy(record.routed_experts, numbers + tokens.cu_seqlens[sequence++] * width);
  return all;
}

}  // namespace

Experience experience_of(const std::vector<RolloutRecord>& mine, const StepFacts& step,
                         const std::vector<int64_t>& share, int64_t num_experts) {
  std::vector<int64_t> ids;
  std::vector<float> log_probs;
  for (const RolloutRecord& record : mine) {
    if (record.is_baseline) continue;
    ids.insert(ids.end(), record.prompt_ids.begin(), record.prompt_ids.end());
    ids.insert(ids.end(), record.response_ids.begin(), record.response_ids.end());
    log_probs.insert(log_probs.end(), record.prompt_ids.size() - 1, 0.0F);
    log_probs.insert(log_probs.end(), record.log_probs.begin(), record.log_probs.end());
    log_probs.push_back(0.0F);
  }
  Experience experience = make_experience(step, share, at::tensor(ids, at::kLong));
  experience.sampler_log_probs = at::tensor(log_probs, at::kFloat);
  if (num_experts > 0) experience.tokens.routed_experts = routed_experts_of(mine, experience.tokens, num_experts);
  return experience;
}

}  // namespace roll
