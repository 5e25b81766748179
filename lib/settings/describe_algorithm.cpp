#include "settings/describe_algorithm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "loss/aggregate.h"
#include "loss/settings.h"
#include "settings/algorithm_keys.h"
#include "settings/batch_plan.h"

namespace roll {

namespace {

/// A property of an algorithm, and the keys that express it.
struct Trait {
  const char* name;  // noun phrase
  bool (*holds)(const AlgorithmSetting& s);
  std::string (*keys)(const AlgorithmSetting& s);
};

// ---- advantages and policy loss: distance() gives them the largest weights

constexpr auto kGroup = NormType::kGroup, kBatch = NormType::kBatch;
using Kind = ImportanceSampling;

constexpr Trait kCritic{"a critic and GAE", [](const AlgorithmSetting& s) { return s.is("gae"); }, advantage_keys};
constexpr Trait kNoBaseline{
    "rewards as they are, or less a constant",
    [](const AlgorithmSetting& s) { return s.is("reinforce") && s.normalises({}, {}) && !s.experience().whitens(); },
    advantage_keys};
constexpr Trait kGroupNormalised{
    "rewards normalised by mean and deviation of their group",
    [](const AlgorithmSetting& s) { return s.sums_rewards() && s.normalises(kGroup, kGroup); }, advantage_keys};
constexpr Trait kGroupMean{
    "rewards less the mean of their group",
    [](const AlgorithmSetting& s) { return s.sums_rewards() && s.normalises(kGroup, {}) && !s.experience().whitens(); },
    advantage_keys};
constexpr Trait kGroupMeanBatchDeviation{
    "rewards less the mean of their group, over the deviation of the batch",
    [](const AlgorithmSetting& s) { return s.sums_rewards() && s.normalises(kGroup, kBatch); }, advantage_keys};
constexpr Trait kWhitened{"returns normalised over the batch",
                          [](const AlgorithmSetting& s) {
                            return (s.is("reinforce_plus_plus") || s.is("reinforce")) && s.normalises({}, {}) &&
                                   s.experience().whitens();
                          },
                          advantage_keys};
constexpr Trait kGroupMeanWhitened{"rewards less the mean of their group, then normalised over the batch",
                                   [](const AlgorithmSetting& s) {
                                     return (s.is("reinforce_plus_plus_baseline") || s.is("reinforce")) &&
                                            s.normalises(kGroup, {}) && s.experience().whitens();
                                   },
                                   advantage_keys};
constexpr Trait kLeaveOneOut{"the mean of the other responses as baseline",
                             [](const AlgorithmSetting& s) { return s.is("rloo"); }, advantage_keys};
constexpr Trait kGreedyBaseline{"the reward of a greedy response as baseline",
                                [](const AlgorithmSetting& s) { return s.is("remax"); }, advantage_keys};
constexpr Trait kLengthWeighted{"the length-weighted mean of the group as baseline",
                                [](const AlgorithmSetting& s) { return s.is("opo"); }, advantage_keys};
constexpr Trait kTokenBaselineOfVerl{
    "a baseline of each token position of the group, except those of only one response",
    [](const AlgorithmSetting& s) { return s.is("optimal_token_baseline_verl"); }, advantage_keys};
constexpr Trait kCorrectedGroupMeanOfVerl{"the mean of the group as baseline, corrected for rewards of 0",
                                          [](const AlgorithmSetting& s) { return s.is("gpg_verl"); }, advantage_keys};
constexpr Trait kDecoupled{"each reward normalised over its group, then their sum over the batch",
                           [](const AlgorithmSetting& s) { return s.is("gdpo"); }, advantage_keys};
constexpr Trait kDecoupledOfVerl{"each reward normalised over its group, then their sum over the batch's tokens",
                                 [](const AlgorithmSetting& s) { return s.is("gdpo_verl"); }, advantage_keys};
constexpr Trait kTokenBaseline{"a baseline of each token of the group",
                               [](const AlgorithmSetting& s) { return s.is("optimal_token_baseline"); },
                               advantage_keys};
constexpr Trait kCorrectedGroupMean{"the mean of the group as baseline, corrected for groups that agree",
                                    [](const AlgorithmSetting& s) { return s.is("gpg"); }, advantage_keys};
constexpr Trait kTurnsAndEpisodes{
    "turns compared with turns from the same state, and trajectories with their group",
    [](const AlgorithmSetting& s) { return s.is("gigpo") && s.normalises(kGroup, kGroup); }, advantage_keys};

constexpr Trait kClippedRatio{
    "PPO's clipped ratio of each token",
    [](const AlgorithmSetting& s) { return s.minimises("ppo") && s.uses_ratio(Kind::kToken); }, policy_keys};
constexpr Trait kSequenceRatio{
    "the clipped ratio of the whole sequence",
    [](const AlgorithmSetting& s) { return s.minimises("ppo") && s.uses_ratio(Kind::kSequence); }, policy_keys};
constexpr Trait kGeometricMean{"the geometric mean of clipped token ratios",
                               [](const AlgorithmSetting& s) { return s.minimises("gmpo"); }, policy_keys};
// At the policy that sampled, PPO's gradient is the plain policy gradient.
constexpr Trait kPolicyGradient{
    "the policy gradient itself",
    [](const AlgorithmSetting& s) {
      return s.minimises("vanilla") ||
             (s.minimises("ppo") && (s.has_one_update || s.uses_ratio(Kind::kManualOnPolicy)));
    },
    policy_keys};
constexpr Trait kCispo{"weights that are clipped ratios",
                       [](const AlgorithmSetting& s) { return s.minimises("cispo"); }, policy_keys};
constexpr Trait kSoftGate{"a gate that fades as a ratio leaves 1",
                          [](const AlgorithmSetting& s) { return s.minimises("sapo"); }, policy_keys};
constexpr Trait kDivergence{"tokens whose probability has not moved too far",
                            [](const AlgorithmSetting& s) { return s.minimises("dppo_tv") || s.minimises("dppo_kl"); },
                            policy_keys};
constexpr Trait kTopr{"tapered weights on whole negative responses",
                      [](const AlgorithmSetting& s) { return s.minimises("topr_response"); }, policy_keys};
constexpr Trait kToprOfTokens{"tapered weights on tokens of responses without a score above 0",
                              [](const AlgorithmSetting& s) { return s.minimises("topr"); }, policy_keys};
constexpr Trait kSquaredRatio{"a squared log-ratio of the whole response",
                              [](const AlgorithmSetting& s) { return s.minimises("kimi15_response"); }, policy_keys};
constexpr Trait kSquaredRatioOfTokens{"a squared log-ratio of each token",
                                      [](const AlgorithmSetting& s) { return s.minimises("kimi15"); }, policy_keys};

// ---- other traits

constexpr Trait kTokenMean{"the mean over all tokens",
                           [](const AlgorithmSetting& s) { return s.mode() == AggMode::kTokenMean; }, mode_keys};
constexpr Trait kSequenceMean{"the mean of each sequence's mean",
                              [](const AlgorithmSetting& s) { return s.mode() == AggMode::kSeqMeanTokenMean; },
                              mode_keys};
constexpr Trait kSequenceSum{"the mean of each sequence's sum",
                             [](const AlgorithmSetting& s) { return s.mode() == AggMode::kSeqMeanTokenSum; },
                             mode_keys};
constexpr Trait kConstantDivisor{"sums over a constant",
                                 [](const AlgorithmSetting& s) { return has_divisor(s.mode()); }, mode_keys};
constexpr Trait kNoKl{"no KL to a reference",
                      [](const AlgorithmSetting& s) { return !s.loss().use_kl_loss && !s.experience().penalises_kl(); },
                      kl_keys};
constexpr Trait kKlInLoss{"the KL to the reference in the loss",
                          [](const AlgorithmSetting& s) { return s.loss().use_kl_loss; }, kl_keys};
constexpr Trait kK3{"k3 as its estimate of the KL in the loss",
                    [](const AlgorithmSetting& s) { return s.loss().kl_loss_penalty == KlPenalty::kK3; },
                    estimate_keys};
constexpr Trait kK2{"k2 as its estimate of the KL in the loss",
                    [](const AlgorithmSetting& s) { return s.loss().kl_loss_penalty == KlPenalty::kMse; },
                    estimate_keys};
constexpr Trait kKlInReward{"the KL to the reference in the rewards of tokens",
                            [](const AlgorithmSetting& s) { return s.experience().penalises_kl(); }, kl_keys};
constexpr Trait kClipHigher{"DAPO's clip-higher",
                            [](const AlgorithmSetting& s) {
                              const ClipRange clip = loss_settings(s.loss()).clip;
                              return s.minimises("ppo") && !s.uses_ratio(Kind::kSequence) && clip.high > clip.low;
                            },
                            clip_keys};
template <class F>
bool in_some_domain(const AlgorithmSetting& s, F&& holds) {
  return std::ranges::any_of(s.config.rewards, [&](const auto& domain) { return holds(domain.second.reward); });
}

constexpr Trait kDynamicSampling{"DAPO's dynamic sampling",
                                 [](const AlgorithmSetting& s) {
                                   return in_some_domain(s, [](const auto& reward) {
                                     return reward.query_filter_config.type != QueryFilter::kNone;
                                   });
                                 },
                                 filter_keys};
constexpr Trait kOverlongShaping{"DAPO's overlong reward shaping",
                                 [](const AlgorithmSetting& s) {
                                   return in_some_domain(
                                       s, [](const auto& reward) { return reward.overlong_buffer.enable; });
                                 },
                                 overlong_keys};
constexpr Trait kEachTrajectoryOnce{
    "statistics that count a trajectory once",
    [](const AlgorithmSetting& s) { return s.experience().episode_statistics == EpisodeStatistics::kTrajectories; },
    episode_keys};
constexpr Trait kOneUpdate{"one update a step", [](const AlgorithmSetting& s) { return s.has_one_update; },
                           update_keys};
constexpr Trait kEntropyBonus{"an entropy bonus",
                              [](const AlgorithmSetting& s) { return s.loss().entropy_loss_coef != 0; }, entropy_keys};
constexpr Trait kNegativeRewards{"rewards below 0 for wrong responses",
                                 [](const AlgorithmSetting& s) { return s.experience().reward_baseline > 0; },
                                 baseline_keys};
constexpr Trait kOpenBelow{"weights without a lower bound",
                           [](const AlgorithmSetting& s) { return s.config.actor_train.policy.cispo_epsilon_low >= 1; },
                           cispo_keys};
constexpr Trait kNoEntropyBonus{
    "no entropy bonus", [](const AlgorithmSetting& s) { return s.loss().entropy_loss_coef == 0; }, entropy_keys};
constexpr Trait kMonteCarloTargets{"VC-PPO's targets of the critic, with lambda 1",
                                   [](const AlgorithmSetting& s) {
                                     const auto& e = s.experience();
                                     return s.is("gae") && e.lambd_critic == 1 && (e.lambd < 1 || e.lambd_alpha);
                                   },
                                   lambda_keys};
constexpr Trait kLengthAdaptive{"VAPO's length-adaptive lambda",
                                [](const AlgorithmSetting& s) { return s.is("gae") && s.experience().lambd_alpha; },
                                lambda_keys};
constexpr Trait kPositiveExamples{"VAPO's positive-example loss",
                                  [](const AlgorithmSetting& s) { return s.loss().positive_loss_coef > 0; },
                                  positive_keys};
constexpr Trait kValuePretraining{"a critic that is trained first",
                                  [](const AlgorithmSetting& s) { return s.is("gae") && s.config.critic_warmup > 0; },
                                  warmup_keys};
constexpr Trait kDualClip{"the dual clip of Ye et al. 2020",
                          [](const AlgorithmSetting& s) { return s.minimises("ppo") && s.loss().dual_clip_loss; },
                          no_keys};
constexpr Trait kOverlongFilter{"truncated responses masked",
                                [](const AlgorithmSetting& s) { return s.experience().max_len_mask; }, no_keys};
constexpr Trait kTruncatedSampling{
    "truncated importance sampling (Yao et al. 2025)",
    [](const AlgorithmSetting& s) { return s.experience().train_infer_correction.is_weight.enabled; }, no_keys};
constexpr Trait kDistillation{"on-policy distillation (Lu et al. 2025)",
                              [](const AlgorithmSetting& s) { return s.config.distils(); }, no_keys};
constexpr Trait kWhitenedAdvantages{"whitened advantages",
                                    [](const AlgorithmSetting& s) { return s.experience().whitens(); }, no_keys};

struct Algorithm {
  const char* name;
  const char* paper;
  const Trait *advantages, *policy;
  std::array<const Trait*, 6> others{};

  bool has(const Trait* trait) const {
    return trait == advantages || trait == policy || std::ranges::find(others, trait) != others.end();
  }
};

constexpr Algorithm kAlgorithms[] = {
    {"PPO", "Schulman et al. 2017", &kCritic, &kClippedRatio, {&kTokenMean}},
    {"PPO as in ROLL", "Schulman et al. 2017, each sequence's mean", &kCritic, &kClippedRatio, {&kSequenceMean}},
    {"VAPO",
     "Yue et al. 2025",
     &kCritic,
     &kClippedRatio,
     {&kMonteCarloTargets, &kLengthAdaptive, &kTokenMean, &kClipHigher, &kPositiveExamples, &kValuePretraining}},
    {"REINFORCE", "Williams 1992", &kNoBaseline, &kPolicyGradient, {&kSequenceSum}},
    {"REINFORCE as in ROLL", "Williams 1992, each sequence's mean", &kNoBaseline, &kPolicyGradient, {&kSequenceMean}},
    {"GRPO", "Shao et al. 2024", &kGroupNormalised, &kClippedRatio, {&kSequenceMean, &kKlInLoss, &kK3}},
    {"DAPO",
     "Yu et al. 2025",
     &kGroupNormalised,
     &kClippedRatio,
     {&kTokenMean, &kClipHigher, &kDynamicSampling, &kOverlongShaping, &kNoKl}},
    {"Dr.GRPO", "Liu et al. 2025", &kGroupMean, &kClippedRatio, {&kConstantDivisor, &kNoKl}},
    {"Lite PPO", "Liu et al. 2025, Tricks or Traps", &kGroupMeanBatchDeviation, &kClippedRatio, {&kTokenMean, &kNoKl}},
    {"GSPO", "Zheng et al. 2025", &kGroupNormalised, &kSequenceRatio, {&kSequenceMean}},
    {"GMPO", "Zhao et al. 2025", &kGroupNormalised, &kGeometricMean, {&kSequenceMean}},
    {"CISPO", "MiniMax 2025", &kGroupNormalised, &kCispo, {&kTokenMean, &kNoKl, &kOpenBelow}},
    {"CISPO as in ROLL",
     "MiniMax 2025, each sequence's mean and a lower bound",
     &kGroupNormalised,
     &kCispo,
     {&kSequenceMean, &kNoKl}},
    {"SAPO", "Gao et al. 2025", &kGroupNormalised, &kSoftGate, {&kSequenceMean, &kNoKl}},
    {"DPPO", "Qi et al. 2026", &kGroupMean, &kDivergence, {&kConstantDivisor, &kNoKl}},
    {"RLOO", "Ahmadian et al. 2024", &kLeaveOneOut, &kPolicyGradient, {&kSequenceSum, &kKlInReward}},
    {"ReMax", "Li et al. 2023", &kGreedyBaseline, &kPolicyGradient, {&kSequenceSum}},
    {"OPO",
     "Hao et al. 2025",
     &kLengthWeighted,
     &kPolicyGradient,
     {&kSequenceSum, &kOneUpdate, &kNoKl, &kNoEntropyBonus}},
    {"GPG", "Chu et al. 2025", &kCorrectedGroupMean, &kPolicyGradient, {&kTokenMean, &kNoKl}},
    {"GiGPO", "Feng et al. 2025", &kTurnsAndEpisodes, &kClippedRatio, {&kEachTrajectoryOnce, &kKlInLoss}},
    {"GiGPO as in ROLL", "Feng et al. 2025, a trajectory once for each turn", &kTurnsAndEpisodes, &kClippedRatio},
    {"GDPO", "Liu et al. 2026", &kDecoupled, &kClippedRatio},
    {"GDPO as in verl",
     "Liu et al. 2026, whitened over tokens",
     &kDecoupledOfVerl,
     &kClippedRatio,
     {&kWhitenedAdvantages}},
    {"OTB", "Li et al. 2026", &kTokenBaseline, &kClippedRatio, {&kTokenMean, &kNoKl}},
    {"OTB as in verl",
     "Li et al. 2026, no baseline for one response alone",
     &kTokenBaselineOfVerl,
     &kClippedRatio,
     {&kTokenMean, &kNoKl}},
    {"GPG as in verl",
     "Chu et al. 2025, larger by rewards of 0",
     &kCorrectedGroupMeanOfVerl,
     &kPolicyGradient,
     {&kTokenMean, &kNoKl}},
    {"REINFORCE++", "Hu et al. 2025", &kWhitened, &kClippedRatio, {&kKlInReward, &kWhitenedAdvantages}},
    {"REINFORCE++-baseline",
     "Hu et al. 2025",
     &kGroupMeanWhitened,
     &kClippedRatio,
     {&kKlInLoss, &kK2, &kWhitenedAdvantages}},
    {"TOPR", "Le Roux et al. 2025", &kNoBaseline, &kTopr, {&kSequenceSum, &kNegativeRewards}},
    {"TOPR as in ROLL", "Le Roux et al. 2025, token by token", &kNoBaseline, &kToprOfTokens},
    {"Kimi k1.5", "Kimi 2025", &kGroupMean, &kSquaredRatio, {&kSequenceSum}},
    {"Kimi k1.5 as in ROLL", "Kimi 2025, token by token", &kGroupMean, &kSquaredRatioOfTokens},
};

/// Techniques that are reported in addition if the nearest algorithm does not include them.
constexpr const Trait* kTechniques[] = {&kClipHigher,     &kDynamicSampling,   &kOverlongShaping,   &kOverlongFilter,
                                        &kDualClip,       &kKlInLoss,          &kKlInReward,        &kMonteCarloTargets,
                                        &kLengthAdaptive, &kPositiveExamples,  &kTruncatedSampling, &kEntropyBonus,
                                        &kDistillation,   &kWhitenedAdvantages};

std::vector<const Trait*> missing_traits(const Algorithm& algorithm, const AlgorithmSetting& setting) {
  std::vector<const Trait*> missing;
  const auto check_trait = [&](const Trait* trait) {
    if (trait && !trait->holds(setting)) missing.push_back(trait);
  };
  check_trait(algorithm.advantages), check_trait(algorithm.policy);
  for (const Trait* trait : algorithm.others) check_trait(trait);
  return missing;
}

/// Distance for sorting: missing traits, with advantages weighted most and the policy loss next; ties go to the
/// algorithm with more traits.
std::pair<int64_t, int64_t> distance(const Algorithm& algorithm, const AlgorithmSetting& setting) {
  int64_t sum = 0;
  for (const Trait* trait : missing_traits(algorithm, setting))
    sum += trait == algorithm.advantages ? 10000 : trait == algorithm.policy ? 100 : 1;
  const auto num_traits = std::ranges::count_if(algorithm.others, [](const Trait* trait) { return trait != nullptr; });
  return {sum, -num_traits};
}

/// Returns "a, b and c".
std::string join_words(const std::vector<std::string>& parts) {
  if (parts.size() < 2) return fmt::format("{}", fmt::join(parts, ""));
  return fmt::format("{} and {}", fmt::join(parts.begin(), parts.end() - 1, ", "), parts.back());
}

}  // namespace

std::string describe_algorithm(const Config& config) {
  const WorkerConfig& actor = config.actor_train;
  if (actor.loss_func)
    return fmt::format("algorithm: the loss {} of {}", actor.loss_func.name, actor.loss_func.library);
  if (config.experience.is_pure_opd)
    return fmt::format("algorithm: on-policy distillation (Lu et al. 2025) from {} {}", config.teacher.size(),
                       config.teacher.size() == 1 ? "teacher" : "teachers");
  const AlgorithmSetting setting{config, updates_per_step(config, actor) == 1};
  const Algorithm& nearest = *std::ranges::min_element(
      kAlgorithms, {}, [&](const Algorithm& algorithm) { return distance(algorithm, setting); });
  std::vector<std::string> techniques, differences;
  for (const Trait* technique : kTechniques)
    if (technique->holds(setting) && !nearest.has(technique)) techniques.emplace_back(technique->name);
  for (const Trait* trait : missing_traits(nearest, setting))
    differences.push_back(fmt::format("{} (here {})", trait->name, trait->keys(setting)));
  std::string text =
      fmt::format("algorithm: {}{} ({})", differences.empty() ? "" : "nearest to ", nearest.name, nearest.paper);
  if (!differences.empty()) text += fmt::format(", which has {}", join_words(differences));
  if (!techniques.empty())
    text += fmt::format("{} {}", differences.empty() ? " with" : "; added to it:", join_words(techniques));
  return text;
}

}  // namespace roll
