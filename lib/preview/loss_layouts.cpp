#include "preview/loss_layouts.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "experience/build.h"
#include "train/batches.h"
#include "train/role_losses.h"
#include "train/updates.h"

namespace roll {

namespace {

/// What the draws of a mini-batch are for: the RandomName's step.
enum Draw : uint32_t { kLengths, kOldLogProbs, kLogProbs, kReference, kEntropy, kValues, kNewValues, kScores, kOrder };

RandomName draw_name(const Config& config, Draw draw, int64_t sequence, int64_t position) {
  return {.seed = static_cast<uint64_t>(config.seed),
          .purpose = Purpose::kCheckLoss,
          .step = draw,
          .sequence = static_cast<uint64_t>(sequence),
          .position = static_cast<uint32_t>(position)};
}

/// [T] standard normal numbers named by sequence and position.
at::Tensor normal_tokens(const Experience& e, const Config& config, Draw draw) {
  std::vector<float> numbers;
  for (int64_t b = 0; b < e.num_sequences(); ++b)
    for (int64_t t = 0; t < e.tokens.length(b); ++t)
      numbers.push_back(static_cast<float>(random_normal(draw_name(config, draw, e.sequence_index[b], t))));
  return at::tensor(numbers, at::kFloat);
}

/// What a model computes of the whole mini-batch, [T] each, as leaves: micro-batches read slices of them, so that their
/// gradients add up where one batch would have put them.
struct Computed {
  at::Tensor log_probs, entropy, values;
};

Computed leaves(const Computed& numbers, at::ScalarType dtype) {
  const auto leaf = [&](const at::Tensor& x) { return x.to(dtype, false, true).requires_grad_(); };
  return {leaf(numbers.log_probs), leaf(numbers.entropy), leaf(numbers.values)};
}

Experience in_dtype(Experience e, at::ScalarType dtype) {
  for (const auto tensor : Experience::kTokenTensors)
    if ((e.*tensor).defined()) e.*tensor = (e.*tensor).to(dtype);
  for (auto& [name, mask] : e.masks) mask = mask.to(dtype);
  return e;
}

/// One role's loss of a mini-batch, however it is cut.
class RoleCheck {
 public:
  using Loss = std::function<LossResult(const Experience&, const Computed&, const MiniBatchCounts&)>;
  RoleCheck(std::string role, const Experience& mini_batch, const Computed& numbers, const Config& config,
            bool apply_loss_scale, Loss loss)
      : role_(std::move(role)),
        mini_batch_(mini_batch),
        numbers_(numbers),
        apply_loss_scale_(apply_loss_scale),
        loss_(std::move(loss)) {
    const int64_t num_groups = 1 + *std::max_element(mini_batch.group_index.begin(), mini_batch.group_index.end());
    if (mini_batch.final_response_mask().sum().item<double>() == 0)
      throw user_error(
          "the {} sequences have no token under final_response_mask, so there is no loss to check; take other "
          "rollouts, or look at max_len_mask, difficulty_mask and the filters",
          mini_batch.num_sequences());
    counts_ = count_masks(mini_batch, config.loss.loss_mask_keys, num_groups);
    std::vector<int64_t> all(mini_batch.num_sequences());
    std::iota(all.begin(), all.end(), 0);
    exact_ = sum({{all}}, at::kDouble);
  }

  LayoutDeviation deviation(const std::vector<Partition>& plan, const std::string& layout) const {
    const Sum found = sum(plan, at::kFloat);
    const double loss_scale = std::max(std::abs(exact_.loss), exact_.gradient.abs().sum().item<double>());
    const double norm = exact_.gradient.norm().item<double>();
    const auto relative = [](double gap, double scale) { return scale > 0 ? gap / scale : gap; };
    return {role_, layout, relative(std::abs(found.loss - exact_.loss), loss_scale),
            relative((found.gradient - exact_.gradient).norm().item<double>(), norm)};
  }

 private:
  struct Sum {
    double loss = 0;
    at::Tensor gradient;  // of log-probs, entropy and values, one after the other, float64
  };

  Sum sum(const std::vector<Partition>& ranks, at::ScalarType dtype) const {
    const Computed whole = leaves(numbers_, dtype);
    const Experience mini_batch = in_dtype(mini_batch_, dtype);
    int64_t num_micro_batches = 0;
    for (const Partition& rank : ranks)
      num_micro_batches += std::count_if(rank.begin(), rank.end(), [](const auto& part) { return !part.empty(); });
    Sum sum;
    for (const Partition& rank : ranks)
      for (const auto& sequences : rank) {
        if (sequences.empty()) continue;
        const at::Tensor tokens = token_indices(mini_batch, sequences);
        const auto part = [&](const at::Tensor& x) { return x.index_select(0, tokens); };
        const LossResult result = loss_(select(mini_batch, sequences),
                                        {part(whole.log_probs), part(whole.entropy), part(whole.values)}, counts_);
        const at::Tensor scaled = result.loss * loss_scale(apply_loss_scale_, num_micro_batches);
        sum.loss += scaled.item<double>();
        scaled.backward();
      }
    std::vector<at::Tensor> gradients;
    for (const at::Tensor* leaf : {&whole.log_probs, &whole.entropy, &whole.values})
      gradients.push_back((leaf->grad().defined() ? leaf->grad() : at::zeros_like(*leaf)).to(at::kDouble));
    sum.gradient = at::cat(gradients);
    return sum;
  }

  std::string role_;
  const Experience& mini_batch_;
  const Computed& numbers_;
  bool apply_loss_scale_;
  Loss loss_;
  MiniBatchCounts counts_;
  Sum exact_;
};

struct Cutting {
  std::string name;
  BatchRule rule;
};

std::vector<Cutting> cuts_of(const std::vector<int64_t>& lengths) {
  std::vector<Cutting> cuts;
  const auto num_sequences = static_cast<int64_t>(lengths.size());
  for (const int64_t size : {int64_t{1}, int64_t{3}, num_sequences}) {
    BatchRule rule;
    rule.num_sequences = size;
    cuts.push_back({fmt::format("micro-batches of {} sequence{}", size, size == 1 ? "" : "s"), rule});
  }
  const int64_t budget = 2 * *std::max_element(lengths.begin(), lengths.end());
  for (const PackAlgorithm algorithm : {PackAlgorithm::kNone, PackAlgorithm::kLoadBalance}) {
    BatchRule rule;
    rule.is_packed = true;
    rule.packing.algorithm = algorithm;
    rule.packing.budget = budget;
    cuts.push_back(
        {fmt::format("packed into {} tokens, {}", budget, algorithm == PackAlgorithm::kNone ? "greedily" : "balanced"),
         rule});
  }
  return cuts;
}

/// plan_ranks of the sequences in this order.
std::vector<Partition> plan_in_order(const std::vector<int64_t>& lengths, const std::vector<int64_t>& order,
                                     const BatchRule& rule, int64_t num_ranks) {
  std::vector<int64_t> ordered;
  for (const int64_t b : order) ordered.push_back(lengths[b]);
  std::vector<Partition> plans = plan_ranks(ordered, rule, num_ranks);
  for (Partition& plan : plans)
    for (auto& part : plan)
      for (int64_t& b : part) b = order[b];
  return plans;
}

Computed draw_computed(const Experience& e, const Config& config) {
  const at::Tensor log_probs = e.old_log_probs + normal_tokens(e, config, kLogProbs) * 0.1;
  return {log_probs.clamp_max(-1e-4), normal_tokens(e, config, kEntropy).abs(),
          e.values.defined() ? e.values + normal_tokens(e, config, kNewValues) * 0.3 : at::zeros_like(log_probs)};
}

}  // namespace

Experience random_mini_batch(const Config& config, int64_t num_sequences) {
  constexpr int64_t kMaxLength = 40;
  const int64_t group_size = config.num_return_sequences_in_group;
  const auto draw = [&](Draw what, int64_t b, int64_t position) {
    return random_uniform(draw_name(config, what, b, position));
  };
  std::vector<Sample> samples;
  for (int64_t b = 0; b < num_sequences; ++b) {
    const auto length = [&](int64_t position) {
      return 1 + static_cast<int64_t>(draw(kLengths, b, position) * draw(kLengths, b, position + 1) * kMaxLength);
    };
    Sample sample{std::vector<int64_t>(length(0), 1), std::vector<int64_t>(length(2), 1), b, b / group_size,
                  draw(kScores, b, 0) < 0.5 ? 0.0 : 1.0,
                  // Under max_len_mask these carry no loss.
                  draw(kScores, b, 1) < 0.25, draw(kScores, b, 2)};
    if (config.experience.adv_estimator->samples_baseline)
      sample.baseline = draw(kScores, num_sequences + sample.group_index, 0);
    for (size_t t = 0; t < sample.response_ids.size(); ++t)
      sample.log_probs.push_back(static_cast<float>(-3 * draw(kOldLogProbs, b, static_cast<int64_t>(t)) - 0.05));
    samples.push_back(std::move(sample));
  }
  return make_experience(samples);
}

void complete_for_check(Experience& e, const Config& config) {
  e.old_log_probs = (e.sampler_log_probs + normal_tokens(e, config, kOldLogProbs) * 0.05).clamp_max(-1e-4);
  e.ref_log_probs = (e.old_log_probs + normal_tokens(e, config, kReference) * 0.3).clamp_max(-1e-4);
  if (config.uses_critic()) e.values = normal_tokens(e, config, kValues);
  const int64_t num_groups = 1 + *std::max_element(e.group_index.begin(), e.group_index.end());
  ExperienceState state(config.experience);
  complete_experience(e, config.experience, num_groups, state);
}

std::vector<LayoutDeviation> check_layouts(const Experience& given, const Config& config) {
  Experience mini_batch = given;
  const ActorLoss actor_loss(config);
  actor_loss.prepare(mini_batch);
  const Computed numbers = draw_computed(mini_batch, config);
  std::vector<RoleCheck> roles;
  roles.emplace_back("actor", mini_batch, numbers, config, config.actor_train.apply_loss_scale,
                     [&](const Experience& e, const Computed& c, const MiniBatchCounts& counts) {
                       return actor_loss(e, {c.log_probs, c.entropy}, counts);
                     });
  std::optional<CriticLoss> critic_loss;
  if (config.uses_critic()) {
    critic_loss.emplace(config);
    roles.emplace_back("critic", mini_batch, numbers, config, config.critic.apply_loss_scale,
                       [&](const Experience& e, const Computed& c, const MiniBatchCounts& counts) {
                         return (*critic_loss)(e, c.values, counts);
                       });
  }
  std::vector<int64_t> lengths;
  std::vector<int64_t> in_order(mini_batch.num_sequences());
  for (int64_t b = 0; b < mini_batch.num_sequences(); ++b) lengths.push_back(mini_batch.tokens.length(b));
  std::iota(in_order.begin(), in_order.end(), 0);
  const std::vector<int64_t> shuffled = random_permutation(mini_batch.num_sequences(), draw_name(config, kOrder, 0, 0));
  std::vector<LayoutDeviation> deviations;
  for (const RoleCheck& role : roles)
    for (const int64_t num_ranks : {1, 2, 4})
      for (const Cutting& cut : cuts_of(lengths))
        for (const bool shuffles : {false, true})
          deviations.push_back(
              role.deviation(plan_in_order(lengths, shuffles ? shuffled : in_order, cut.rule, num_ranks),
                             fmt::format("ranks {}, {}, {}", num_ranks, cut.name, shuffles ? "shuffled" : "in order")));
  return deviations;
}

}  // namespace roll
