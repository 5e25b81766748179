#include "train/sft.h"

#include <ATen/ATen.h>

#include "model/model_folder.h"
#include "settings/placement.h"
#include "step/plugin_inputs.h"
#include "step/step_settings.h"
#include "train/row_training.h"
#include "train/sft_data.h"

namespace roll {

namespace {

constexpr const char* kTeacherRole = "teacher";

/// Makes a step whose rows are each a sequence and a group. labels_mask marks the trained tokens, so prompts are empty.
RlStep make_step(const std::vector<SftRow>& rows, const PlanHome& plan_home, int rank) {
  RlStep step;
  for (const SftRow& row : rows)
    step.facts.responses.push_back({.group = step.facts.num_sequences(), .response_length = std::ssize(row.ids) - 1});
  step.home = plan_home(step.facts);
  const std::vector<int64_t>& share = step.home.rank_share(rank);
  std::vector<int64_t> ids;
  std::vector<float> mask;
  for (const int64_t row : share) {
    ids.insert(ids.end(), rows[row].ids.begin(), rows[row].ids.end());
    mask.insert(mask.end(), rows[row].labels_mask.begin(), rows[row].labels_mask.end());
  }
  step.experience = make_experience(step.facts, share, at::tensor(ids, at::kLong));
  step.experience.masks = {{kLabelsMask, at::tensor(mask, at::kFloat)}};
  return step;
}

/// `divergence`: from the teacher; null if there is no teacher.
RoleLoss make_role_loss(const RowConfig& config, const DivergenceArgs* divergence) {
  return [plugin = open_plugin(config.trained.loss_func, config.trained_key + ".loss_func"),
          settings = loss_settings(config.loss),
          divergence](const Experience& e, const Computed& computed, const MiniBatchCounts& counts) {
    const TokenLogProbs& policy = computed.policy;
    if (plugin)
      return call_plugin(*plugin, plugin_inputs(e, {{"log_probs", policy.log_probs}}), counts, settings.modes);
    const SftInputs inputs{.axis = e.axis(), .log_probs = policy.log_probs, .labels_mask = e.mask(kLabelsMask)};
    if (!divergence) return sft_loss(inputs, counts, settings);
    const at::Tensor teacher = e.taught.narrow(1, 0, e.taught.size(1) / 2);
    return distillation_loss(inputs, {.logits = policy.choice_logits, .teacher = teacher}, counts, settings,
                             *divergence);
  };
}

/// Returns val/loss in nats per token. Sums all rows in order, so that the result is bit-equal in any layout.
Metrics measure_rows(const RlStep& step, Mesh& policy) {
  const int64_t num_rows = step.facts.num_sequences();
  const Distribution everywhere{{all_ranks(policy.world().size())}, {first_numbers(num_rows)}};
  const auto all =
      redistribute({step.experience.old_log_probs, step.experience.mask(kLabelsMask)}, step.facts.lengths(), step.home,
                   everywhere, policy.world(), "log-probs of the validation");
  const double num_tokens = all[1].sum(at::kDouble).item<double>();
  Metrics metrics;
  metrics.add("val/loss", -(all[0] * all[1]).sum(at::kDouble).item<double>() / num_tokens, num_tokens);
  return metrics;
}

/// `C`: SftConfig or DistillConfig.
template <class C>
RowMethod load_sft(const C& config, const RunStart& start, at::Device device, Log& log) {
  const RoleSource policy = trained_source(config, start, device);
  const Tokenizer tokenizer = Tokenizer::load(policy.folder);
  TrainedRows<SftRow> rows = load_and_log_rows<SftRow>(
      config.trained.data_args, config.validation.data_args, config.sequence_length,
      [&](const DataArgs& data, Progress* progress) {
        return load_sft_rows(config, data, policy.folder, tokenizer, progress);
      },
      log);
  RoleSources sources{.longest_sequence = config.sequence_length};
  sources.roles[kPolicyRole] = policy;
  const LossSettings loss = loss_settings(config.loss);
  StepSettings settings = row_settings(
      config, {.mask = kLabelsMask, .counted_masks = loss.counted_masks, .weights = sft_weight_rules(loss)},
      rows.training.size());
  return {.config = config,
          .algorithm = "supervised fine-tuning",
          .shown = {},
          .settings = std::move(settings),
          .sources = std::move(sources),
          .rows = row_steps(std::move(rows.training), make_step),
          .validation = row_steps(std::move(rows.validation), make_step),
          .loss = make_role_loss(config, nullptr),
          .validation_passes = {policy_pass(config)},
          .measure = measure_rows};
}

/// Adds a teacher, whose forward runs before each update.
void add_teacher(RowMethod& method, const DistillConfig& config, at::Device device) {
  const DivergenceArgs& args = config.divergence;
  const int64_t vocabulary = read_spec(method.sources.policy_folder()).vocab_size;
  const int64_t count = config.logits_topk > 0 ? config.logits_topk : vocabulary;
  method.algorithm = "distillation from written answers";
  method.sources.roles[kTeacherRole] = role_source(config.teacher, device);
  method.settings.places.roles[kTeacherRole] = role_place(config.teacher);
  method.settings.models.top_tokens[kTeacherRole] = {count, vocabulary, args.kd_temperature * args.teacher_temperature};
  method.settings.forwards.passes = {
      {kTeacherRole, Finding::kTopTokens, batch_rule(config.teacher, Stage::kForward), {}, /*kl_coef=*/1, 2 * count}};
  method.loss = make_role_loss(config, &args);
}

}  // namespace

void run_sft(const SftConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  const auto load = [&](const RunStart& start) { return load_sft(config, start, device, log); };
  run_rows(plan_rows(config, flags, ranks, log), load, device, ranks, log);
}

void run_distill(const DistillConfig& config, const RunFlags& flags, at::Device device, Communicator& ranks, Log& log) {
  const auto load = [&](const RunStart& start) {
    RowMethod method = load_sft(config, start, device, log);
    add_teacher(method, config, device);
    return method;
  };
  run_rows(plan_rows(config, flags, ranks, log), load, device, ranks, log);
}

}  // namespace roll
