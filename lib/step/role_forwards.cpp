#include "step/role_forwards.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "loss/terms.h"
#include "step/roles.h"
#include "step/step_metrics.h"

namespace roll {

namespace {

/// Names of a finding, and the tensor it fills.
struct FindingNames {
  Finding finding;
  const char* timed;  // metric time/<name>
  const char* shown;  // in the progress line
  at::Tensor Experience::*target;
};
constexpr FindingNames kFindings[] = {
    {Finding::kReference, "ref_log_probs", "reference log-probs", &Experience::ref_log_probs},
    {Finding::kTeacher, "ref_log_probs", "teacher's log-probs", nullptr},
    {Finding::kOldLogProbs, "old_log_probs", "old log-probs", &Experience::old_log_probs},
    {Finding::kValues, "values", "values", &Experience::values},
    {Finding::kTopTokens, "teacher", "teacher's likeliest tokens", &Experience::taught}};

/// Forward pass of a role over sequences of the step.
struct Pass {
  const FindingNames& names;
  BatchRule rule;
  RoleMesh& mesh;
  const ModelInStep& model;        // computes where the role lives
  std::vector<int64_t> sequences;  // indices in the step, ascending
  double kl_coef;                  // teacher's coefficient
  int64_t width;                   // values per token
  at::Tensor result{};             // [T, width] over this rank's part of `sequences`, in the order of RlStep::home
  std::vector<Partition> plans{};
  Distribution distribution{};
  Experience share{};
  at::Tensor share_result{};
  int64_t sharing = 0;  // see forward_share()
  double took_s = 0;
};

/// Plans which ranks compute the step, and in which micro-batches.
void plan(Pass& pass, const SequenceSizes& step) {
  const SequenceSizes sizes = step.select(pass.sequences);
  pass.sharing = sharing_alignment(sizes, pass.rule);
  pass.rule.packing.share_prompts = pass.sharing > 0 ? SharePrompts::kTrue : SharePrompts::kFalse;
  pass.plans = plan_ranks(sizes, pass.rule, pass.mesh.dp_size());
  for (Partition& rank_plan : pass.plans)
    for (auto& micro_batch : rank_plan) micro_batch = picked(pass.sequences, micro_batch);
  pass.distribution = {world_groups(pass.mesh), rank_sequences({pass.plans})};
}

void compute(Pass& pass, at::Device device, Log& log) {
  pass.share_result = at::empty({0}, at::kFloat);
  if (!pass.mesh.is_here()) return;
  Mesh& mesh = pass.mesh.mesh();
  mesh.world().traffic().set_phase(phase_name(pass.names.finding));
  const Stopwatch watch;
  const std::shared_ptr<void> weights_guard = pass.model.bring_weights ? pass.model.bring_weights() : nullptr;
  const Partition micro_batches = share_indices(pass.plans[mesh.place().dp]);
  pass.share_result = forward_share(pass.share, micro_batches, device, model_parallel(mesh), pass.model.forward,
                                    {&log, pass.names.shown}, pass.sharing);
  pass.took_s = watch.seconds();
}

/// Returns the sequences of the named domains, or all.
std::vector<int64_t> select_sequences(const StepFacts& step, const std::vector<std::string>& domains) {
  std::vector<int64_t> sequences;
  for (int64_t b = 0; b < step.num_sequences(); ++b)
    if (domains.empty() || std::ranges::find(domains, step.responses[b].domain) != domains.end())
      sequences.push_back(b);
  return sequences;
}

/// Returns true if the pass includes the sequence.
bool includes(const Pass& pass, int64_t sequence) {
  return std::ranges::binary_search(pass.sequences, sequence);
}

/// Returns the distribution of the pass's results.
Distribution result_distribution(const Pass& pass, const Distribution& home) {
  Distribution distribution = home;
  for (auto& share : distribution.shares)
    std::erase_if(share, [&](int64_t sequence) { return !includes(pass, sequence); });
  return distribution;
}

std::vector<Pass> make_passes(const StepFacts& step, const ForwardSettings& settings, const StepModels& models,
                              ByRole<RoleMesh>& learners) {
  std::vector<Pass> passes;
  for (const auto& [role, finds, rule, domains, kl_coef, width] : settings.passes) {
    const ModelInStep& model = models.roles.at(role);
    const FindingNames& names = *std::ranges::find(kFindings, finds, &FindingNames::finding);
    std::vector<int64_t> sequences = select_sequences(step, domains);
    if (sequences.empty()) continue;
    passes.push_back(
        {names, rule.with(make_workload(model.spec)), learners.at(role), model, std::move(sequences), kl_coef, width});
  }
  return passes;
}

/// Returns the teachers' sum of kl_coef x KL(policy, teacher): [T] over this rank's sequences of the step.
at::Tensor sum_teacher_kl(const std::vector<Pass>& passes, const TeacherKl& settings, const Experience& experience) {
  const at::Tensor& log_probs = settings.from_sampler ? experience.sampler_log_probs : experience.old_log_probs;
  at::Tensor sum = at::zeros_like(experience.response_mask());
  for (const Pass& pass : passes) {
    if (pass.names.finding != Finding::kTeacher) continue;
    std::vector<int64_t> taught;  // indices in `experience`
    for (int64_t b = 0; b < experience.num_sequences(); ++b)
      if (includes(pass, experience.sequence_index[b])) taught.push_back(b);
    const at::Tensor tokens = token_indices(experience, taught);
    const at::Tensor d = (log_probs.index_select(0, tokens) - pass.result.select(1, 0))
                             .masked_fill(experience.response_mask().index_select(0, tokens).eq(0), 0);
    sum.index_add_(0, tokens, kl_term(d, settings.penalty) * pass.kl_coef);
  }
  return sum;
}

}  // namespace

void run_forwards(RlStep& step, const ForwardSettings& settings, const StepModels& models, ByRole<RoleMesh>& meshes,
                  Log& log, Metrics& metrics) {
  std::vector<Pass> passes = make_passes(step.facts, settings, models, meshes);
  const SequenceSizes sizes = step.facts.sizes();
  const std::vector<int64_t>& lengths = sizes.lengths;
  Communicator& learners = meshes.at(kPolicyRole).world();
  learners.traffic().set_phase("forwards");
  for (Pass& pass : passes) {
    plan(pass, sizes);
    std::vector<at::Tensor> columns;
    columns.push_back(step.experience.tokens.ids.to(at::kInt));
    const bool is_policy =
        pass.names.finding == Finding::kOldLogProbs;  // the sampler's recorded experts apply to the policy only
    const at::Tensor& experts = step.experience.tokens.routed_experts;
    const bool with_experts = is_policy && experts.defined(), with_labels = step.experience.masks.contains(kLabelsMask);
    if (with_experts) columns.push_back(experts);
    if (with_labels) columns.push_back(step.experience.mask(kLabelsMask));
    const std::vector<at::Tensor> moved =
        redistribute(columns, lengths, step.home, pass.distribution, learners, "tokens");
    pass.share = make_experience(step.facts, pass.distribution.rank_share(learners.rank()), moved[0].to(at::kLong));
    if (with_experts) pass.share.tokens.routed_experts = moved[1];
    if (with_labels) pass.share.masks[kLabelsMask] = moved.back();
  }
  // Compute all passes before waiting for other ranks, so that roles on different ranks overlap.
  for (Pass& pass : passes) compute(pass, models.device, log);
  learners.traffic().set_phase("forwards");
  std::map<std::string, double> took_s;  // sum over teachers
  for (Pass& pass : passes) {
    const at::Tensor token_results =
        pass.share_result.view({pass.width, pass.share.tokens.num_tokens()}).t().contiguous();
    pass.result = redistribute({token_results}, lengths, pass.distribution, result_distribution(pass, step.home),
                               learners, "forward results")[0];
    at::Tensor pass_seconds = at::scalar_tensor(pass.took_s, at::kDouble);
    pass.mesh.broadcast(pass_seconds, "times of forwards");
    took_s[pass.names.timed] += pass_seconds.item<double>();
    add_packing_metrics(phase_name(pass.names.finding), batch_stats(pass.plans, sizes, pass.rule.packing), metrics);
  }
  for (const auto& [name, seconds] : took_s) metrics.add(fmt::format("time/{}", name), seconds);
  for (const Pass& pass : passes) {
    const bool keeps_all_columns = pass.names.finding == Finding::kTopTokens;
    if (pass.names.target)
      step.experience.*pass.names.target = keeps_all_columns ? pass.result : pass.result.select(1, 0).contiguous();
    if (pass.names.finding == Finding::kOldLogProbs && pass.width == 2)
      step.experience.energies = pass.result.select(1, 1).contiguous();
  }
  if (settings.teacher_kl && step.experience.num_sequences() > 0)
    step.experience.teacher_kl = sum_teacher_kl(passes, *settings.teacher_kl, step.experience);
}

void add_sampler_gap(const Experience& experience, const at::Tensor& log_probs, Metrics& metrics) {
  const at::Tensor gaps =
      (log_probs - experience.sampler_log_probs).abs().masked_select(experience.response_mask().ne(0));
  if (gaps.numel() == 0) return;
  metrics.add("actor/sampler_log_prob_gap/mean@mean",
              gaps.sum(at::kDouble).item<double>() / static_cast<double>(gaps.numel()),
              static_cast<double>(gaps.numel()));
  metrics.add("actor/sampler_log_prob_gap/max@max", gaps.max().item<double>());
}

}  // namespace roll
