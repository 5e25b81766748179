#include "train/step_index.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

#include "base/error.h"

namespace roll {

namespace {

/// As it travels.
struct Fact {
  int32_t group = 0, sample = 0;
  int32_t prompt_length = 0, response_length = 0;
  double score = 0, reward = 0, difficulty = 0;
  int32_t domain = 0;  // among the names that come with it
  bool is_baseline = false, is_judged = false, is_truncated = false;
  char unused = 0;
};
static_assert(sizeof(Fact) == 48);

template <class T>
void put(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& bytes) {
  T value;
  ROLL_CHECK(bytes.size() >= sizeof value, "facts end where they were ended");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

}  // namespace

std::string facts_message(const std::vector<RolloutRecord>& records) {
  std::map<std::string, int32_t> domains;
  for (const RolloutRecord& record : records) domains.try_emplace(record.domain, static_cast<int32_t>(domains.size()));
  std::vector<const std::string*> names(domains.size());
  for (const auto& [name, number] : domains) names[number] = &name;
  std::string message;
  put(message, static_cast<uint32_t>(names.size()));
  for (const std::string* name : names) put(message, static_cast<uint32_t>(name->size())), message += *name;
  for (const RolloutRecord& r : records)
    put(message, Fact{.group = static_cast<int32_t>(r.group_index),
                      .sample = static_cast<int32_t>(r.sample_index),
                      .prompt_length = static_cast<int32_t>(r.prompt_ids.size()),
                      .response_length = static_cast<int32_t>(r.response_ids.size()),
                      .score = r.score,
                      .reward = r.reward,
                      .difficulty = r.difficulty,
                      .domain = domains.at(r.domain),
                      .is_baseline = r.is_baseline,
                      .is_judged = r.is_judged,
                      .is_truncated = r.finish_reason == "length"});
  return message;
}

namespace {

struct KnownFact {
  Fact fact;
  std::string domain;
  int rank = 0;
  auto key() const { return std::tuple(fact.group, fact.sample); }
};

void read_message(std::string_view message, int rank, std::vector<KnownFact>& facts) {
  std::vector<std::string> domains(take<uint32_t>(message));
  for (std::string& domain : domains) {
    const auto size = take<uint32_t>(message);
    domain = message.substr(0, size);
    message.remove_prefix(domain.size());
  }
  while (!message.empty()) {
    const auto fact = take<Fact>(message);
    facts.push_back({fact, domains.at(fact.domain), rank});
  }
}

}  // namespace

StepIndex index_of(std::vector<RolloutRecord>& mine, Communicator& world) {
  sort_records(mine);
  std::vector<KnownFact> known;
  const auto messages = world.all_gather_bytes(facts_message(mine), kFactsOfResponses);
  for (int rank = 0; rank < world.size(); ++rank) read_message(messages[rank], rank, known);
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
  for (const auto& [fact, domain, rank] : known) {
    if (fact.is_baseline) continue;
    step.holders.shares[rank].push_back(facts.num_sequences());
    facts.group_index.push_back(fact.group);
    facts.prompt_lengths.push_back(fact.prompt_length);
    facts.response_lengths.push_back(fact.response_length);
    facts.scores.push_back(fact.score);
    facts.rewards.push_back(fact.reward);
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

Experience experience_of(const std::vector<RolloutRecord>& mine, const StepFacts& step,
                         const std::vector<int64_t>& share) {
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
  return experience;
}

}  // namespace roll
