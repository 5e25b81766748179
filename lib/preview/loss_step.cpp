#include "preview/loss_step.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "base/random.h"
#include "reward/parts.h"
#include "settings/agentic.h"

namespace roll {

namespace {

/// Purposes of the random draws, used as the step of a RandomName.
enum Draw : uint32_t {
  kLengths,
  kOldLogProbs,
  kLogProbs,
  kReference,
  kEntropy,
  kValues,
  kNewValues,
  kFacts,
  kEnergies,
  kTurns
};

/// Keys of the random numbers of a step.
struct Draws {
  uint64_t seed;

  RandomName operator()(Draw draw, int64_t sequence, int64_t position) const {
    return {.seed = seed,
            .purpose = Purpose::kCheckLoss,
            .step = draw,
            .sequence = static_cast<uint64_t>(sequence),
            .position = static_cast<uint32_t>(position)};
  }
};

constexpr int64_t kMaxLength = 40;

/// Splits a response into turns; the model has the first and the last tokens. With `has_contexts`, half of the later
/// turns start a new context.
std::vector<Turn> random_turns(const Draws& draws, int64_t b, int64_t num_tokens, bool has_contexts) {
  int64_t position = 0;
  const auto draw_up_to = [&](int64_t limit) {
    return 1 + static_cast<int64_t>(random_uniform(draws(kTurns, b, position++)) * static_cast<double>(limit));
  };
  std::vector<Turn> turns;
  for (int64_t tokens_left = num_tokens; tokens_left > 0;) {
    Turn& turn = turns.emplace_back(Turn{.num_tokens = draw_up_to(tokens_left), .state = draw_up_to(3)});
    turn.reward = random_uniform(draws(kTurns, b, position++));
    turn.is_fresh = has_contexts && turns.size() > 1 && random_uniform(draws(kTurns, b, position++)) < 0.5;
    tokens_left -= turn.num_tokens;
    if (tokens_left == 1) {  // too few for an environment's answer and another turn
      ++turn.num_tokens;
      tokens_left = 0;
    }
    if (tokens_left > 0) turn.num_environment_tokens = draw_up_to(tokens_left - 1);
    tokens_left -= turn.num_environment_tokens;
  }
  return turns;
}

/// Makes response `b` with random lengths and facts.
RolloutRecord random_record(const Draws& draws, int64_t group, int64_t sample, int64_t b, bool is_baseline) {
  const auto draw_length = [&](int64_t position) {
    return 1 + static_cast<size_t>(random_uniform(draws(kLengths, b, position)) *
                                   random_uniform(draws(kLengths, b, position + 1)) * kMaxLength);
  };
  const auto draw_fact = [&](int64_t position) { return random_uniform(draws(kFacts, b, position)); };
  RolloutRecord record{.step = 1,
                       .domain = group % 2 == 0 ? "even" : "odd",
                       .group_index = group,
                       .sample_index = sample,
                       .is_baseline = is_baseline,
                       .prompt_ids = std::vector<int64_t>(draw_length(0)),
                       .response_ids = std::vector<int64_t>(draw_length(2)),
                       .finish_reason = draw_fact(1) < 0.25 ? "length" : "stop",
                       .is_judged = draw_fact(3) > 0.1,
                       .difficulty = draw_fact(2)};
  if (record.is_judged) {
    record.score = draw_fact(0) < 0.5 ? 0 : 1;
    record.reward = record.score - 1.5 * draw_fact(4);
    record.reward_detail["parts"] = parts_json({{1, record.score}, {-1.5, draw_fact(4)}});
  }
  for (int64_t t = 0; t < std::ssize(record.response_ids); ++t)
    record.log_probs.push_back(static_cast<float>(-3 * random_uniform(draws(kOldLogProbs, b, t)) - 0.05));
  return record;
}

/// Returns the sampler's log-prob of token t + 1 of the sequence; 0 outside the response.
double sampled_log_prob(const RolloutRecord& record, int64_t t) {
  const int64_t i = t - (std::ssize(record.prompt_ids) - 1);
  return i >= 0 && i < std::ssize(record.log_probs) ? record.log_probs[i] : 0;
}

TokenTables draw_tables(const std::vector<RolloutRecord>& records, const Draws& draws) {
  std::vector<double> old_log_probs, energies, ref_log_probs, old_values, log_probs, entropy, values;
  constexpr double kHighest = -1e-4;
  int64_t b = 0;
  for (const RolloutRecord& record : records) {
    if (record.is_baseline) continue;
    for (int64_t t = 0; t < std::ssize(record.prompt_ids) + std::ssize(record.response_ids); ++t) {
      const auto normal = [&](Draw draw) { return random_normal(draws(draw, b, t)); };
      old_log_probs.push_back(std::min(kHighest, sampled_log_prob(record, t) + 0.05 * normal(kOldLogProbs)));
      // The sampled token's term, and at most as much from the other tokens.
      energies.push_back(std::pow(std::expm1(old_log_probs.back()), 2) * (1 + random_uniform(draws(kEnergies, b, t))));
      ref_log_probs.push_back(std::min(kHighest, old_log_probs.back() + 0.3 * normal(kReference)));
      log_probs.push_back(std::min(kHighest, old_log_probs.back() + 0.1 * normal(kLogProbs)));
      entropy.push_back(std::abs(normal(kEntropy)));
      old_values.push_back(normal(kValues));
      values.push_back(old_values.back() + 0.3 * normal(kNewValues));
    }
    ++b;
  }
  const auto table = [](const std::vector<double>& numbers) { return at::tensor(numbers, at::kFloat); };
  return {table(old_log_probs), table(energies), table(ref_log_probs), table(old_values),
          table(log_probs),     table(entropy),  table(values)};
}

void number_tokens(std::vector<RolloutRecord>& records) {
  int64_t number = 0;
  for (RolloutRecord& record : records) {
    if (record.is_baseline) continue;
    for (int64_t& id : record.prompt_ids) id = number++;
    for (int64_t& id : record.response_ids) id = number++;
  }
}

LossStep complete(std::vector<RolloutRecord> records, int64_t mini_batch, const Config& config) {
  number_tokens(records);
  TokenTables tables = draw_tables(records, Draws{static_cast<uint64_t>(config.seed)});
  return {std::move(records), mini_batch, std::move(tables)};
}

int64_t num_responses(const std::vector<RolloutRecord>& records) {
  return std::ranges::count(records, false, &RolloutRecord::is_baseline);
}

}  // namespace

int64_t LossStep::num_sequences() const {
  return num_responses(records);
}

LossStep random_loss_step(const Config& config) {
  constexpr int64_t kMinSequences = 16, kMaxSequences = 32;
  const int64_t group_size = config.num_return_sequences_in_group;
  const int64_t wanted_sequences = std::clamp(config.actor_train.mini_batch(), kMinSequences, kMaxSequences);
  const int64_t groups_per_mini_batch = std::max<int64_t>(1, wanted_sequences / group_size);
  const Draws draws{static_cast<uint64_t>(config.seed)};
  const bool has_turns = config.agentic.is_used() || config.experience.adv_estimator->weighs_turns;
  std::vector<RolloutRecord> records;
  for (int64_t group = 0; group < 2 * groups_per_mini_batch; ++group) {
    for (int64_t sample = 0; sample < group_size; ++sample)
      records.push_back(random_record(draws, group, sample, std::ssize(records), false));
    if (config.experience.adv_estimator->samples_baseline)
      records.push_back(random_record(draws, group, group_size, std::ssize(records), true));
  }
  if (has_turns)
    for (int64_t b = 0; b < std::ssize(records); ++b)
      records[b].turns = random_turns(draws, b, std::ssize(records[b].response_ids), most_contexts(config) > 1);
  return complete(std::move(records), groups_per_mini_batch * group_size, config);
}

LossStep make_loss_step(std::vector<RolloutRecord> records, const Config& config) {
  const int64_t mini_batch = num_responses(records);
  return complete(std::move(records), mini_batch, config);
}

}  // namespace roll
