#include "track/warning_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace roll {

namespace {

constexpr const char* kScore = "score/mean";
constexpr int64_t kQuietSteps = 10;  // steps without the problem after which a warning ends

/// Returns the mean of the newest `count` points; NaN if there are fewer, which fails every comparison.
double mean_of_last(const MetricHistory& history, std::string_view name, size_t count) {
  const MetricPoints points = history.last_points(name, count);
  return points.size() == count ? mean_value(points) : std::nan("");
}

/// Returns the mean of the first `count` points; NaN if there are fewer than twice as many.
double mean_of_first(const MetricHistory& history, std::string_view name, size_t count) {
  const MetricPoints points = history.points(name);
  return points.size() >= 2 * count ? mean_value(points.first(count)) : std::nan("");
}

/// Returns the mean of `count` points that end `ago` points before the newest; NaN if there are too few.
double mean_before(const MetricHistory& history, std::string_view name, size_t count, size_t ago) {
  const MetricPoints points = history.last_points(name, count + ago);
  return points.size() == count + ago ? mean_value(points.first(count)) : std::nan("");
}

double newest(const MetricHistory& history, std::string_view name) {
  return mean_of_last(history, name, 1);
}

/// A policy that is almost always right has little left to learn; what looks like a fault is normal.
bool is_nearly_perfect(const MetricHistory& history) {
  double low = INFINITY, high = -INFINITY;  // range of the run's scores
  for (const MetricPoint& point : history.points("score/min")) low = std::min(low, point.value);
  for (const MetricPoint& point : history.points("score/max")) high = std::max(high, point.value);
  if (!(high > low)) return high > 0;  // all scores were equal
  return mean_of_last(history, kScore, 5) > high - 0.1 * (high - low);
}

std::string same_scores(const MetricHistory& history) {
  const MetricPoints low = history.last_points("score/min", 5), high = history.last_points("score/max", 5);
  if (low.size() < 5 || high.size() < 5) return "";
  for (size_t i = 0; i < 5; ++i)
    if (low[i].value != high[i].value) return "";
  return fmt::format("all responses have the same score: {:.4g} in each of the last 5 steps", high.back().value);
}

/// Reports that the mean moved by less than its standard error (Welch) between the first and the last third of the
/// newest 90 steps.
std::string flat_score(const MetricHistory& history) {
  constexpr size_t kSteps = 90, kThird = kSteps / 3;
  const MetricPoints points = history.last_points(kScore, kSteps);
  if (points.size() < kSteps || is_nearly_perfect(history)) return "";
  const auto squared_error = [](MetricPoints part) {
    double squares = 0;
    for (const MetricPoint& point : part) squares += std::pow(point.value - mean_value(part), 2);
    return squares / static_cast<double>(part.size() - 1) / static_cast<double>(part.size());
  };
  const MetricPoints then = points.first(kThird), now = points.last(kThird);
  if (std::abs(mean_value(now) - mean_value(then)) > std::sqrt(squared_error(then) + squared_error(now))) return "";
  return fmt::format("the score does not move: {:.4g} over the last {} steps, {:.4g} in those {} steps before",
                     mean_value(now), kThird, mean_value(then), kSteps - kThird);
}

/// Yu et al. 2025 (DAPO, arXiv:2503.14476), section 3.2: groups with equal rewards have zero advantage. Does not apply
/// to a critic's advantages, nor to groups of one.
std::string equal_groups(const MetricHistory& history) {
  const double mixed = mean_of_last(history, "group/mixed_ratio", 10);
  const double groups = newest(history, "rollout/groups_sampled") - newest(history, "rollout/groups_dropped") -
                        newest(history, "rollout/groups_aborted");
  const bool is_compared = history.points("critic/loss").empty() && newest(history, "system/samples") >= 2 * groups;
  if (!(mixed < 0.1) || !is_compared) return "";
  return fmt::format("groups teach little: over the last 10 steps {:.1f} % had responses with different rewards",
                     100 * mixed);
}

/// Cui et al. 2025 (arXiv:2505.22617): the score is bought with entropy and stalls when entropy is used up.
std::string entropy_collapse(const MetricHistory& history) {
  const double now = mean_of_last(history, "actor/entropy", 5), first = mean_of_first(history, "actor/entropy", 5);
  if (!(now < 0.1 * first) || is_nearly_perfect(history)) return "";
  return fmt::format("entropy collapses: {:.3g} nats a token over the last 5 steps, {:.3g} in the first 5", now, first);
}

/// Liu et al. 2025 (Dr. GRPO, arXiv:2503.20783): wrong responses grow if each sequence's loss is a mean. Longer
/// responses with better scores are fine.
std::string length_explosion(const MetricHistory& history) {
  constexpr const char* kLength = "token/response_length/mean";
  const double now = mean_of_last(history, kLength, 5), then = mean_before(history, kLength, 5, 20);
  const double gain = mean_of_last(history, kScore, 5) - mean_before(history, kScore, 5, 20);
  if (!(now > 2 * then) || gain > 0.02) return "";
  return fmt::format(
      "responses grow without scoring better: {:.0f} tokens over the last 5 steps, {:.0f} 20 steps before", now, then);
}

/// A policy can meet a reward that no length enters by empty or by endless answers.
std::string length_shift(const MetricHistory& history) {
  constexpr const char* kLength = "token/response_length/mean";
  const double now = mean_of_last(history, kLength, 5), first = mean_of_first(history, kLength, 5);
  const double gain = mean_of_last(history, kScore, 5) - mean_of_first(history, kScore, 5);
  const bool shrinks = now <= 0.5 * first, grows = now >= 1.5 * first;
  if (!(shrinks || grows) || !(gain > 0.02)) return "";
  return fmt::format("responses {} while the score rises: {:.0f} tokens over the last 5 steps, {:.0f} in the first 5",
                     shrinks ? "shrink" : "grow", now, first);
}

/// Welleck et al. 2019 (arXiv:1908.04319) count repeated n-grams the same way; text of people repeats few.
std::string repeated_text(const MetricHistory& history) {
  constexpr const char* kRepeated = "rollout/repeated_text";
  const double now = mean_of_last(history, kRepeated, 5), first = mean_of_first(history, kRepeated, 5);
  if (!(now > 0.3) || !(now > 2 * first)) return "";
  return fmt::format(
      "responses repeat themselves: {:.0f} % of their 4-token sequences over the last 5 steps, {:.0f} % in the first 5",
      100 * now, 100 * first);
}

/// Finds tags whose validation rows were all wrong, or all right, from the first validation on.
std::string stuck_kinds(const MetricHistory& history) {
  constexpr std::string_view kPrefix = "val_correct/", kEnding = "/mean";
  constexpr size_t kValidations = 3;
  const auto is_always = [&](const std::string& name, double value) {
    const MetricPoints points = history.points(name);
    return points.size() >= kValidations &&
           std::ranges::all_of(points, [&](const MetricPoint& point) { return point.value == value; });
  };
  std::string wrong, right;
  int64_t num_kinds = 0;
  for (const std::string& name : history.names(kPrefix, kEnding)) {
    const std::string kind = name.substr(kPrefix.size(), name.size() - kPrefix.size() - kEnding.size());
    if (kind == "all") continue;
    ++num_kinds;
    for (auto& [list, value] : {std::pair(&wrong, 0.0), std::pair(&right, 1.0)})
      if (is_always(name, value)) *list += (list->empty() ? "" : ", ") + kind;
  }
  if (num_kinds < 2 || (wrong.empty() && right.empty())) return "";
  std::string text = fmt::format("of {} kinds of rows, some do not change in any validation:", num_kinds);
  if (!wrong.empty()) text += fmt::format(" all wrong: {}", wrong);
  if (!right.empty()) text += fmt::format("{} all right: {}", wrong.empty() ? "" : ";", right);
  return text;
}

/// Yu et al. 2025 (DAPO), section 3.4: a truncated response is scored for its length, not for its reasoning.
std::string truncation(const MetricHistory& history) {
  const double share = mean_of_last(history, "rollout/truncated_ratio", 5);
  if (!(share > 0.25)) return "";
  return fmt::format("{:.0f} % of responses were cut off at response_length over the last 5 steps", 100 * share);
}

/// Gao, Schulman and Hilton 2022 (arXiv:2210.10760): as the KL grows, the true reward falls again. Half a nat per token
/// is twice the quickstart's value. Some runs have only one of the two metrics.
std::string kl_growth(const MetricHistory& history) {
  const double kl = std::fmax(mean_of_last(history, "kl", 5), mean_of_last(history, "actor/kl_loss", 5));
  if (!(kl > 0.5)) return "";
  return fmt::format("the policy drifts far from the reference: KL {:.3g} nats a token over the last 5 steps", kl);
}

/// Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy RL training". Float rounding alone
/// causes gaps of hundredths of a nat.
std::string large_gap(const MetricHistory& history) {
  const double gap = mean_of_last(history, "actor/sampler_log_prob_gap/mean", 3);
  if (!(gap > 0.1)) return "";
  return fmt::format("sampler and trainer disagree: {:.3g} nats a token on average over the last 3 steps", gap);
}

/// Some tokens were sampled with earlier weights; their gap includes what the policy has learnt since.
bool is_stale(const MetricHistory& history) {
  return newest(history, "rollout/stale_tokens") > 0;
}

/// Returns true if train_infer_correction weighs or drops tokens.
bool is_corrected(const MetricHistory& history) {
  return !history.points("actor/train_infer_kept_ratio").empty();
}

std::string sampler_gap(const MetricHistory& history) {
  return is_stale(history) || is_corrected(history) ? "" : large_gap(history);
}

/// Corrected gaps still cost tokens, although only rounding should differ.
std::string corrected_gap(const MetricHistory& history) {
  return is_stale(history) || !is_corrected(history) ? "" : large_gap(history);
}

/// Corrected staleness is intended, so only uncorrected staleness is reported.
std::string stale_gap(const MetricHistory& history) {
  if (!is_stale(history) || is_corrected(history)) return "";
  const std::string finding = large_gap(history);
  return finding.empty() ? ""
                         : fmt::format("{}, and earlier weights drew {:.0f} % of the tokens", finding,
                                       100 * newest(history, "rollout/stale_tokens"));
}

/// Kumar et al. 2025 (ZClip, arXiv:2504.02507): a norm far outside its recent range precedes a loss spike.
std::string gradient_spike(const MetricHistory& history) {
  for (const std::string& name : history.names("", "/grad_norm")) {
    const MetricPoints points = history.last_points(name, 21);
    if (points.size() < 11) continue;
    std::vector<double> norms;
    for (const MetricPoint& point : points.first(points.size() - 1)) norms.push_back(point.value);
    const auto middle = norms.begin() + std::ssize(norms) / 2;
    std::nth_element(norms.begin(), middle, norms.end());
    if (points.back().value > 10 * *middle)
      return fmt::format("the gradient spikes: {} {:.3g}, median of the {} steps before {:.3g}", name,
                         points.back().value, norms.size(), *middle);
  }
  return "";
}

/// Pascanu et al. 2013 (arXiv:1211.5063) clip at half to ten times the average norm. Clipping all gradients to a tenth
/// or less amounts to a lower learning rate.
std::string clipped_for_ever(const MetricHistory& history) {
  for (const std::string& name : history.names("", "/grad_clip_coef")) {
    const MetricPoints points = history.last_points(name, 20);
    if (points.size() < 20) continue;
    if (std::ranges::all_of(points, [](const MetricPoint& point) { return point.value < 0.1; }))
      return fmt::format("every gradient is clipped: {} {:.2g} on average over the last 20 steps", name,
                         mean_value(points));
  }
  return "";
}

/// 1 - Var(returns - values) / Var(returns); as in Stable-Baselines3's documentation, below 0 is worse than predicting
/// a constant. A critic needs some steps first.
std::string useless_values(const MetricHistory& history) {
  const double explained = mean_of_last(history, "critic/explained_variance", 10);
  if (!(explained < -0.05) || history.points("critic/explained_variance").size() < 20) return "";
  return fmt::format("the critic predicts worse than a constant: explained variance {:.3g} over the last 10 steps",
                     explained);
}

}  // namespace

const std::vector<WarningRule>& warning_rules() {
  static const std::vector<WarningRule> kRules = {
      {"same_scores", "read some responses in rollouts/ and check `rewards`; `roll score` tests a reward", same_scores},
      {"flat_score", "raise learning_rate, or choose rows by difficulty", flat_score},
      {"equal_groups", "choose rows that are neither too hard nor too easy, or set query_filter_config", equal_groups},
      {"entropy_collapse", "raise pg_clip_high (with use_pg_clip_range) or entropy_loss_coef, or lower learning_rate",
       entropy_collapse},
      {"length_explosion", "look at loss_agg_mode (token-mean), or set overlong_buffer", length_explosion},
      {"length_shift",
       "read some in rollouts/: does the score still measure what you want? kl_loss_coef or a lower learning_rate "
       "keeps the policy near its initial weights",
       length_shift},
      {"repeated_text", "set repetition_penalty in the reward or kl_loss_coef, or lower learning_rate", repeated_text},
      {"stuck_kinds", "groups of such rows teach nothing; make the wrong ones easier, or set sampler: pass_rate",
       stuck_kinds},
      {"truncation", "raise response_length, or set overlong_buffer", truncation},
      {"kl_growth", "raise init_kl_coef or kl_loss_coef, or lower learning_rate", kl_growth},
      {"sampler_gap", "set train_infer_correction, or sample in the trainer's dtype", sampler_gap},
      {"corrected_gap", "train_infer_correction corrects the gap; sample in the trainer's dtype to avoid it",
       corrected_gap},
      {"stale_gap", "set train_infer_correction.is_weight.enabled, or lower async_generation_ratio", stale_gap},
      {"gradient_spike", "lower learning_rate or max_grad_norm if the score suffers", gradient_spike},
      {"clipped_for_ever", "raise max_grad_norm, or lower learning_rate", clipped_for_ever},
      {"useless_values", "raise the critic's learning_rate, or critic_warmup", useless_values},
  };
  return kRules;
}

std::vector<Warning> WarningWatch::observe(const MetricHistory& history) {
  step_ = history.step();
  std::vector<Warning> fresh;
  for (const WarningRule& rule : warning_rules()) {
    const std::string finding = rule.finding(history);
    if (finding.empty()) continue;
    const auto [entry, is_first] = last_active_step_.try_emplace(rule.name, step_);
    const bool has_returned = step_ - entry->second > kQuietSteps;
    entry->second = step_;
    if (is_first || has_returned) fresh.push_back({step_, rule.name, fmt::format("{}; {}", finding, rule.remedy)});
  }
  raised_.insert(raised_.end(), fresh.begin(), fresh.end());
  return fresh;
}

bool WarningWatch::is_active(const Warning& warning) const {
  const auto entry = last_active_step_.find(warning.rule);
  return entry != last_active_step_.end() && step_ - entry->second <= kQuietSteps;
}

}  // namespace roll
