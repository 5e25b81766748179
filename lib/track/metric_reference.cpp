#include "track/metric_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/nearest.h"

namespace roll {

namespace {

constexpr MetricWords kLearning[] = {
    {"score/*", "", "the rewards' verdicts on the step's responses before any penalty: mean, max, min; by domain"},
    {"rewards/*", "",
     "rewards used in training: verdicts after clipping, normalisation and penalties, summed over a response's tokens; "
     "by domain"},
    {"advantages/*", "", "advantages of response tokens, after whitening; by domain"},
    {"returns/*", "", "returns of response tokens, which the critic learns; by domain"},
    {"kl", "nats",
     "estimated KL of the policy from the reference: the mean over responses of the mean over their tokens; by domain"},
    {"teacher_kl", "nats",
     "estimated KL of the policy from its teachers, weighted by opd_kl_coef: the mean over responses of the mean over "
     "their tokens; by domain"},
    {"kl_coef", "", "the coefficient of the KL in token rewards, as its controller sets it; by domain"},
    {"reward_clip_frac", "", "share of verdicts cut by reward_clip; by domain"},
    {"token_reward_clip_frac", "", "share of token rewards, KL included, cut by reward_clip; by domain"},
    {"advantage_clip_frac", "", "share of advantages cut by advantage_clip; by domain"},
    {"group/all_correct_ratio", "",
     "share of prompts whose responses all have the same reward, with a score above 0: nothing to learn; by domain"},
    {"group/all_incorrect_ratio", "",
     "share of prompts whose responses all have the same reward, with a score of 0 or less: nothing to learn; by "
     "domain"},
    {"group/mixed_ratio", "",
     "share of prompts whose responses have different rewards, from which group advantages learn; by domain"},
    {"val_correct/*/mean", "",
     "share of right responses (score of 1 or more) in the validation: of all, and of each tag (a tag named all is "
     "shown as 'all (tag)')"},
    {"val_score/*/mean", "", "mean verdict in the validation: of all, and of each tag"},
    {"val_correct/*/std", "", "standard deviation of right (1) and wrong (0) over responses; not the mean's error"},
    {"val_score/*/std", "", "standard deviation of verdicts over responses; not the mean's error"},
    {"val_correct/*/se", "", "standard error of val_correct/*/mean, with samples of one prompt as one cluster"},
    {"val_score/*/se", "", "standard error of val_score/*/mean, with samples of one prompt as one cluster"},
    {"val_prompts/*", "prompts", "prompts of the validation: of all, and of each tag"},
    {"val/*/avg@*", "", "share of right responses of a named validation set, over k samples of each prompt"},
    {"val/*/pass@*", "", "probability that at least one of k samples is right, unbiased, mean over a set's prompts"},
    {"val/*/maj@*", "", "probability that the most frequent answer of k samples is right, mean over a set's prompts"},
    {"val/*/score", "", "mean verdict on a set"},
    {"val/*/response_length", "tokens", "mean length of a set's responses, the model's own tokens"},
    {"val/*/truncated", "", "share of a set's responses that were cut off at their longest"},
    {"val/*/no_answer", "", "share of a set's judged responses in which no final answer was found"},
    {"val/*/unjudged", "", "share of a set's responses that could not be judged"},
    {"val/*/*/se", "", "standard error, over the set's prompts, of the metric without /se"},
    {"val_turns/mean", "turns", "mean number of the validation's turns in environments"},
    {"val_response_length/mean", "tokens", "mean length of the validation's responses, the model's own tokens"},
};

constexpr MetricWords kPolicy[] = {
    {"actor/pg_loss", "", "the policy's loss, averaged by loss_agg_mode; its gradient matters, its value says little"},
    {"actor/weighted_pg_loss", "", "actor/pg_loss with the sequences' weights"},
    {"actor/total_loss", "", "all that is differentiated: policy, KL and entropy terms with their coefficients"},
    {"actor/kl_loss", "nats", "the KL term of the loss (by kl_loss_penalty), before kl_loss_coef"},
    {"actor/positive_loss", "nats", "negative log-likelihood of right responses, before positive_loss_coef"},
    {"actor/entropy", "nats", "entropy of the policy at response tokens; near 0 the policy no longer explores"},
    {"actor/approxkl", "nats", "half the mean squared log-ratio of new to old policy: how far the step has moved"},
    {"actor/policykl", "nats", "mean log-ratio of new to old policy"},
    {"actor/ratio_mean", "", "mean ratio of new to old policy"},
    {"actor/clipfrac", "", "share of tokens whose ratio is clipped"},
    {"actor/ppo_ratio_high_clipfrac", "", "share of tokens with a ratio above the clip range"},
    {"actor/ppo_ratio_low_clipfrac", "", "share of tokens with a ratio below the clip range"},
    {"actor/grad_norm", "", "norm of the gradient before max_grad_norm clips it, mean over the step's updates"},
    {"actor/grad_clip_coef", "", "factor by which max_grad_norm scaled the gradient; 1: not clipped"},
    {"actor/lr", "", "learning rate, mean over the updates"},
    {"actor/skipped_updates", "", "updates left out because loss or gradient was not finite"},
    {"actor/empty_mini_batches", "", "updates left out because no token of their mini-batch is in the loss"},
    {"actor/final_mask_ratio", "", "share of the step's responses that the policy learns from; by domain"},
    {"actor/sampler_log_prob_gap/*", "nats",
     "difference between the sampler's and the trainer's log-probs of one token: mean, max"},
    {"actor/is_weight/mean", "",
     "mean weight that corrects the policy's loss for the difference of sampler and trainer; by domain"},
    {"actor/is_weight_clipfrac", "", "share of tokens whose weight is cut by upper_bound; by domain"},
    {"actor/train_infer_*/mean", "",
     "ratio or difference of trainer to sampler by which train_infer_correction filters; by domain"},
    {"actor/train_infer_kept_ratio", "", "share of tokens that train_infer_correction keeps; by domain"},
    {"*/moe/balance_loss", "", "the routers' load-balancing loss, before moe_aux_loss_coeff; 1: even loads"},
    {"*/moe/z_loss", "", "the routers' z-loss, before moe_z_loss_coeff"},
    {"*/moe/router_entropy", "nats", "spread of the routers' probabilities; 0: one expert is certain"},
    {"*/moe/busiest_load", "", "load of the busiest expert of a sequence, relative to an even load"},
    {"*/moe/replayed_otherwise", "", "share of experts that routing_replay used and the trainer's routers had not"},
    {"*/moe/agreement", "", "share of experts that the sampler used, too; 1 under routing_replay"},
    {"*/mtp/loss", "nats",
     "loss of the multi-token-prediction head before mtp_loss_coef: minus its log-prob of the token after the next "
     "one"},
    {"*/mtp/probability", "",
     "the head's mean probability of that token: about the share of its guesses that a server accepts"},
    {"*/mtp/grad_norm", "", "norm of the head's gradient before max_grad_norm clips it"},
};

constexpr MetricWords kCritic[] = {
    {"critic/loss", "", "the critic's loss"},
    {"critic/clipfrac", "", "share of tokens whose value is clipped by value_clip"},
    {"critic/values/*", "", "the critic's values at response tokens; by domain"},
    {"critic/explained_variance", "",
     "1: values predict the returns; 0: no better than their mean; below 0: worse; by domain"},
    {"critic/grad_norm", "", "norm of the critic's gradient before clipping"},
    {"critic/grad_clip_coef", "", "factor by which max_grad_norm scaled the gradient; 1: not clipped"},
    {"critic/lr", "", "the critic's learning rate, mean over the updates"},
    {"critic/skipped_updates", "", "the critic's updates left out because loss or gradient was not finite"},
    {"critic/empty_mini_batches", "",
     "the critic's updates left out because no token of their mini-batch is in the loss"},
};

constexpr MetricWords kSampling[] = {
    {"token/prompt_length/*", "tokens", "lengths of the step's prompts: mean, max, min; by domain"},
    {"token/later_prompt_length/*", "tokens",
     "lengths of the prompts of later turns, which an environment writes between two turns of the model; by domain"},
    {"token/response_length/*", "tokens",
     "lengths of the step's responses, the model's own tokens in all turns; by domain"},
    {"token/total_length/*", "tokens", "prompts and responses, with all turns; by domain"},
    {"rollout/finish_reason/*", "",
     "share of responses by finish reason: stop (end token), stop_string, length (cut at response_length), abort; by "
     "domain"},
    {"rollout/truncated_ratio", "", "share of responses cut at response_length, so without an answer; by domain"},
    {"rollout/repeated_text", "",
     "mean share of a response's sequences of four tokens that occur earlier in it; near 1 in a text that loops; by "
     "domain"},
    {"rollout/groups_sampled", "prompts", "prompts sampled in this step; by domain"},
    {"rollout/groups_dropped", "prompts", "prompts that a filter dropped; by domain"},
    {"rollout/groups_aborted", "prompts", "prompts aborted because the step had enough; by domain"},
    {"rollout/rows_passed_over", "rows",
     "rows that sampler: pass_rate skipped, because all or none of their last responses were right; by domain"},
    {"rollout/baseline_score", "", "mean verdict on the greedy responses of ReMax; by domain"},
    {"rollout/tokens_per_s", "tokens/s", "tokens that all sampling ranks sample per second of sampling"},
    {"rollout/slots_busy", "", "share of max_running_requests that sampled tokens, over the sampler's steps"},
    {"rollout/guessed", "tokens", "guessed tokens that the sampler computed (actor_infer.speculation)"},
    {"rollout/guessed_right", "", "share of the guessed tokens that were then drawn"},
    {"rollout/guess_speedup", "", "tokens drawn per token drawn without a guess; 1: guesses saved nothing"},
    {"rollout/kv_pages_used", "", "largest share of the KV cache's pages in use"},
    {"rollout/prefix_hits", "", "share of prompt tokens already computed for another response to the prompt"},
    {"rollout/evictions", "", "responses evicted from the KV cache and computed again"},
    {"rollout/staleness/*", "steps", "age of the weights that sampled a token: mean, max"},
    {"rollout/stale_tokens", "", "share of tokens sampled by older weights than the step's"},
    {"environment/success", "", "share of trajectories whose environment says that they succeeded; by domain"},
    {"environment/turns", "turns", "turns of the model in a trajectory; by domain"},
    {"environment/turn_length", "tokens", "tokens of the model in a turn; by domain"},
    {"environment/tokens", "tokens", "tokens of the environment in a trajectory, which carry no loss; by domain"},
    {"environment/invalid_actions", "", "share of turns in which the environment found no action; by domain"},
    {"environment/tool_calls", "calls", "tool calls in a trajectory; by domain"},
    {"environment/tool_errors", "calls", "tool calls in a trajectory that were answered by an error; by domain"},
    {"environment/cut/*", "",
     "share of trajectories that were cut: turns, tokens, time; max_len_mask takes them out of the loss; by domain"},
    {"environment/failed/*", "trajectories",
     "trajectories whose environment failed, by kind: timeout, crash, garbage, flood, protocol; they are not trained "
     "on; by domain"},
    {"reward/timeouts", "responses", "responses not judged within timeout_s; by domain"},
    {"reward/errors", "responses", "responses not judged for any other reason; by domain"},
    {"reward/errors/*", "responses",
     "responses not judged, by kind: crash, unavailable, unjudged, unparsable; by domain"},
    {"reward/retries", "", "requests for rewards that were repeated; by domain"},
    {"reward/waiting", "responses", "longest queue of responses before a reward; by domain"},
    {"reward/seconds/*", "s", "time that a verdict took: mean, max; by domain"},
};

constexpr MetricWords kSpeed[] = {
    {"utc", "", "time at which the step was written; in metrics.jsonl only"},
    {"time/step_total", "s", "the whole step"},
    {"time/step_generate", "s", "sampling"},
    {"time/step_generate_wait", "s", "sampling's wait for other ranks"},
    {"time/step_rewards", "s", "waiting for rewards after sampling"},
    {"time/step_model_update", "s", "weight sync to the sampler"},
    {"time/old_log_probs", "s", "the policy's forward pass over the step"},
    {"time/ref_log_probs", "s", "the forward pass of the reference, or of the teachers, over the step"},
    {"time/teacher", "s", "the teacher's forward pass over the update's rows, in roll distill"},
    {"time/values", "s", "the critic's forward pass over the step"},
    {"time/advantages", "s",
     "everything between sampling and training: the forward passes above, and advantages from rewards"},
    {"time/step_train", "s", "updates of policy and critic"},
    {"time/validate", "s", "the validation"},
    {"time/checkpoint", "s", "time that training waited for checkpoints"},
    {"perf/mfu", "",
     "share of the measured GEMM peak that training reaches; a prompt that is computed once for several responses "
     "counts for each, so it may be above 1"},
    {"perf/tokens_per_s_per_rank", "tokens/s", "tokens of the step per second and rank"},
    {"packing/fill", "", "share of a training micro-batch's token budget that is used"},
    {"packing/shared", "", "share of the sequences' tokens that are not computed, as share_prompts computes them once"},
    {"packing/padding", "", "share of slots that hold padding"},
    {"packing/num_micro_batches", "", "micro-batches of an update on each rank, mean over the step's updates"},
    {"packing/imbalance", "", "work of the busiest rank over the mean"},
    {"packing/imbalance_tokens", "", "tokens of the busiest rank over the mean"},
    {"packing/wait_s", "s", "time of the slowest rank beyond the mean, summed over the step's updates"},
    {"packing/*/fill", "", "as without the middle part, for the micro-batches of that role or pass"},
    {"packing/*/shared", "", "as without the middle part, for the micro-batches of that role or pass"},
    {"packing/*/padding", "", "as without the middle part, for the micro-batches of that role or pass"},
    {"packing/*/num_micro_batches", "", "as without the middle part, for the micro-batches of that role or pass"},
    {"packing/*/imbalance", "", "as without the middle part, for the micro-batches of that role or pass"},
    {"packing/*/imbalance_tokens", "", "as without the middle part, for the micro-batches of that role or pass"},
    {"pipeline/*/bubble", "",
     "share of an update that a stage idles if all micro-batches take equally long: (p - 1) / (v m + p - 1), with v "
     "chunks per stage"},
    {"pipeline/*/idle", "",
     "share of an update that a stage idles, from the measured core time of each pass (on a CPU)"},
    {"pipeline/*/waiting", "", "share of an update that stages waited for each other (on a CPU)"},
    {"packing/*/wait_s", "s", "as without the middle part, for the micro-batches of that role or pass"},
    {"comm/*/*/*_bytes", "bytes", "bytes that rank 0 sends in a phase, to a group, by a kind of collective"},
    {"comm/*/reduce_s", "s", "reductions of gradients on the role's first rank, summed over the step's updates"},
    {"comm/*/reduce_hidden_s", "s", "reductions of gradients hidden behind the backward pass"},
    {"memory/*/optimizer_bytes", "bytes", "optimizer state of a rank"},
    {"memory/*/resident_bytes", "bytes",
     "largest host memory of a rank's process in a phase: sampling, forwards, advantages, train, validate, save; "
     "measured every 50 ms, on the rank with most"},
    {"system/num_tokens", "tokens", "prompts and responses of the step"},
    {"system/samples", "responses", "of the step"},
    {"system/global_step", "", "the step's number"},
    {"system/tps", "tokens/s", "tokens of the step per second"},
};

constexpr MetricWords kSft[] = {
    {"sft/loss", "nats", "negative log-likelihood of a trained token"},
    {"sft/grad_norm", "", "norm of the gradient before clipping"},
    {"sft/grad_clip_coef", "", "factor by which max_grad_norm scaled the gradient; 1: not clipped"},
    {"sft/lr", "", "learning rate, mean over the updates"},
    {"sft/skipped_updates", "", "updates left out because loss or gradient was not finite"},
    {"sft/empty_mini_batches", "", "updates left out because no token of their mini-batch is in the loss"},
    {"val/loss", "nats", "the loss on the validation's rows, of `roll dpo` too"},
};

constexpr MetricWords kDistill[] = {
    {"distill/loss", "nats", "loss of a trained token: distill_loss and student_loss, weighted by distill_loss_weight"},
    {"distill/distill_loss", "nats", "divergence of the student from the teacher, over the teacher's likeliest tokens"},
    {"distill/student_loss", "nats", "negative log-likelihood of the written token"},
    {"distill/grad_norm", "", "norm of the gradient before clipping"},
    {"distill/grad_clip_coef", "", "factor by which max_grad_norm scaled the gradient; 1: not clipped"},
    {"distill/lr", "", "learning rate, mean over the updates"},
    {"distill/skipped_updates", "", "updates left out because loss or gradient was not finite"},
    {"distill/empty_mini_batches", "", "updates left out because no token of their mini-batch is in the loss"},
};

constexpr MetricWords kDpo[] = {
    {"dpo/loss", "", "the loss of a pair: DPO's, cDPO's or IPO's"},
    {"rewards/chosen", "", "beta x log-ratio of policy to reference of the chosen responses, a mean over the pairs"},
    {"rewards/rejected", "",
     "beta x log-ratio of policy to reference of the rejected responses, a mean over the pairs"},
    {"rewards/margins", "", "reward of the chosen less that of the rejected responses"},
    {"rewards/accuracies", "", "share of pairs whose chosen response has the larger reward"},
    {"logps/chosen", "nats", "log-prob of a whole chosen response"},
    {"logps/rejected", "nats", "log-prob of a whole rejected response"},
    {"dpo/grad_norm", "", "norm of the gradient before clipping"},
    {"dpo/grad_clip_coef", "", "factor by which max_grad_norm scaled the gradient; 1: not clipped"},
    {"dpo/lr", "", "learning rate, mean over the updates"},
    {"dpo/skipped_updates", "", "updates left out because loss or gradient was not finite"},
    {"dpo/empty_mini_batches", "", "updates left out because no token of their mini-batch is in the loss"},
    {"val/rewards/*", "", "the validation's rewards/chosen, rejected, margins and accuracies"},
    {"val/logps/*", "nats", "the validation's logps/chosen and rejected"},
};

struct Topic {
  const char* title;
  std::span<const MetricWords> rows;
};
const Topic kTopics[] = {{"how it goes", kLearning},
                         {"the policy's updates", kPolicy},
                         {"the critic", kCritic},
                         {"sampling and rewards", kSampling},
                         {"time, speed, memory", kSpeed},
                         {"roll sft", kSft},
                         {"roll dpo", kDpo},
                         {"roll distill", kDistill}};

/// Matches `pattern`, in which '*' matches any characters except '/'.
bool matches_pattern(std::string_view name, std::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  const size_t most = std::min(name.find('/', star), name.size());
  for (size_t end = star + 1; end <= most; ++end)
    if (matches_pattern(name.substr(end), rest)) return true;
  return false;
}

}  // namespace

const MetricWords* find_metric(std::string_view name) {
  for (const Topic& topic : kTopics)
    if (const auto row = std::ranges::find(topic.rows, name, &MetricWords::name); row != topic.rows.end()) return &*row;
  for (const Topic& topic : kTopics)
    for (const MetricWords& row : topic.rows)
      if (matches_pattern(name, row.name)) return &row;
  const size_t slash = name.find('/');
  const bool may_have_domain = slash != std::string_view::npos;
  const MetricWords* row = may_have_domain ? find_metric(name.substr(slash + 1)) : nullptr;
  return row && std::string_view(row->words).ends_with("by domain") ? row : nullptr;
}

std::string metric_table(std::string_view pattern, bool markdown) {
  const std::string wanted = lower_ascii(pattern);
  std::string text;
  for (const auto& [title, rows] : kTopics) {
    std::string topic_text;
    for (const auto& [name, unit, words] : rows) {
      if (lower_ascii(fmt::format("{} {}", name, words)).find(wanted) == std::string::npos) continue;
      if (markdown)
        topic_text += fmt::format("| `{}` | {} | {} |\n", name, unit, words);
      else
        topic_text += fmt::format("{}{}: {}\n", name, *unit ? fmt::format(" [{}]", unit) : "", words);
    }
    if (topic_text.empty()) continue;
    if (!text.empty()) text += '\n';
    text += fmt::format("{} {}\n", markdown ? "##" : "#", title);
    if (markdown) text += "\n| metric | unit | meaning |\n|---|---|---|\n";
    text += topic_text;
  }
  return text;
}

std::string tag_in_metric(const std::string& tag) {
  constexpr std::string_view kReservedTag = "all", kMarker = " (tag)";
  std::string_view rest = tag;
  while (rest.ends_with(kMarker)) rest.remove_suffix(kMarker.size());  // keeps the tag "all (tag)" distinct
  return rest == kReservedTag ? tag + std::string(kMarker) : tag;
}

bool is_open_family(std::string_view domain) {
  return domain == "val_correct" || domain == "val_score" || domain == "actor" || domain == "critic";
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Topic& topic : kTopics)
    for (const MetricWords& row : topic.rows) names.emplace_back(row.name);
  return names;
}

}  // namespace roll
