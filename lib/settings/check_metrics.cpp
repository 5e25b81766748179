// Checks the metric that selects the best checkpoints and ends a run early. If it were never measured, no best
// checkpoint would be kept and the run would not stop, silently.
#include <algorithm>
#include <array>
#include <set>

#include "base/nearest.h"
#include "data/row_files.h"
#include "evaluation/measured_set.h"
#include "settings/checks.h"
#include "track/metric_reference.h"

namespace roll {

namespace {

constexpr std::array kSftPrefixes = {"sft/", "distill/", "dpo/", "logps/", "val/loss", "val/rewards/", "val/logps/"};

std::string first_part(std::string_view name) {
  return std::string(name.substr(0, name.find('/')));
}

bool is_watched(const CheckpointConfig& config) {
  return config.early_stopping_patience > 0 || config.best_ckpt_to_keep > 0;
}

bool begins_with_any(const std::string& name, const auto& prefixes) {
  return std::ranges::any_of(prefixes, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

/// Returns true if `name` is this row's metric with a domain before it.
bool has_domain(const std::string& name, const MetricWords& row) {
  return name.find('/') != std::string::npos && first_part(row.name) != first_part(name);
}

/// Complains, at the key that waits for the metric, if it is not measured. Returns `is_measured`.
bool require_measured(bool is_measured, const CheckpointConfig& config, const std::string& reason, Checker& check) {
  const std::string rule = fmt::format("{} {}", check.name(config.metric_for_best_model), reason);
  return config.early_stopping_patience > 0 ? check.require(is_measured, config.early_stopping_patience, "{}", rule)
                                            : check.require(is_measured, config.best_ckpt_to_keep, "{}", rule);
}

constexpr const char* kNoValidation =
    "is measured in validations, but there are no validations; set eval_steps and validation.data_args.file_name";

/// Checks that the metric is known, unless a loss plug-in may measure it. Returns true if it is known.
bool check_name(const CheckpointConfig& config, bool has_plugins, Checker& check) {
  const std::string& name = config.metric_for_best_model;
  if (find_metric(name) || has_plugins || (!is_watched(config) && !check.is_set(config.metric_for_best_model)))
    return find_metric(name) != nullptr;
  return check.require(false, config.metric_for_best_model,
                       "no run measures this metric; `roll metrics` lists all metrics{}",
                       did_you_mean(name, metric_names()));
}

/// Checks that validation rows have the tag of val_correct/TAG/mean, val_score/... or val_prompts/TAG.
void check_tag(const Config& config, Checker& check) {
  const std::string& name = config.checkpoints.metric_for_best_model;
  constexpr std::array kTagPrefixes = {"val_correct/", "val_score/", "val_prompts/"};
  if (!begins_with_any(name, kTagPrefixes)) return;
  const size_t begin = name.find('/') + 1, last = name.rfind('/');
  const std::string tag = name.substr(begin, last >= begin ? last - begin : name.npos);
  if (tag == "all") return;
  const DataArgs& data = config.validation.data_args;
  std::set<std::string> tags;
  for_each_row(expand_files(data.file_name, data.split), configured_columns(data), [&](const Row& row, const RowFile&) {
    if (!row.tag.empty()) tags.insert(tag_in_metric(row.tag));
  });
  const std::vector<std::string> known(tags.begin(), tags.end());
  check.require(tags.contains(tag), config.checkpoints.metric_for_best_model,
                "no validation row has the tag {}; use all{}{}{}", tag, known.empty() ? "" : ", or one of the tags ",
                fmt::join(known, ", "), did_you_mean(tag, known));
}

/// Checks that a validation set measures val/SET/...
void check_set_metric(const Config& config, Checker& check) {
  const std::string& name = config.checkpoints.metric_for_best_model;
  std::vector<std::string> known;
  for (const auto& [set, args] : config.validation.sets)
    for (const std::string& metric :
         evaluation_metric_names(set, args.generating_args.num_return_sequences.value_or(1)))
      known.push_back(metric);
  check.require(std::ranges::find(known, name) != known.end(), config.checkpoints.metric_for_best_model,
                "no validation set has this metric; there is {}{}",
                known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")), did_you_mean(name, known));
}

}  // namespace

void check_best_metric(const Config& config, bool offline, Checker& check) {
  const CheckpointConfig& keys = config.checkpoints;
  const std::string& name = keys.metric_for_best_model;
  const bool has_plugins = config.actor_train.loss_func || config.actor_train.pg_loss_reducer;
  if (!check_name(keys, has_plugins, check) || !is_watched(keys)) return;
  const MetricWords& row = *find_metric(name);
  const auto require = [&](bool is_measured, const std::string& reason) {
    return require_measured(is_measured, keys, reason, check);
  };
  if (has_domain(name, row))
    require(config.rewards.contains(first_part(name)),
            fmt::format("belongs to a domain, but rewards has no {}", first_part(name)));
  require(!begins_with_any(name, kSftPrefixes),
          fmt::format("is measured by `roll {}`; for responses use val_correct/all/mean",
                      name.starts_with("dpo/") || name.starts_with("logps/") ? "dpo"
                      : name.starts_with("distill/")                         ? "distill"
                                                                             : "sft"));
  require(config.uses_critic() || !std::string_view(row.name).starts_with("critic/"),
          "belongs to a critic, but there is no critic: " + check.name(config.experience.adv_estimator));
  const bool is_kl = row.name == std::string_view("kl") || row.name == std::string_view("actor/kl_loss");
  require(config.uses_reference() || !is_kl,
          "is measured against a reference, but there is no reference; set enable_reference");
  require(config.distils() || row.name != std::string_view("teacher_kl"),
          "is measured against a teacher, but there is no teacher; set is_pure_opd or use_opd");
  const bool is_set_metric = std::string_view(row.name).starts_with("val/*/");
  if (!is_set_metric && !name.starts_with("val_")) return;
  if (require(config.validates() && config.eval_steps > 0, kNoValidation) && !offline)
    check.collect(keys.metric_for_best_model, [&] { check_tag(config, check); });
  if (is_set_metric) check_set_metric(config, check);
}

void check_best_metric(const RowConfig& config, Checker& check) {
  const CheckpointConfig& keys = config.checkpoints;
  const std::string& name = keys.metric_for_best_model;
  if (!check_name(keys, static_cast<bool>(config.trained.loss_func), check) || !is_watched(keys)) return;
  constexpr std::array kShared = {"time/", "perf/", "packing/", "comm/", "memory/", "system/"};
  std::vector<std::string> prefixes = {config.kind + "/", "val/"};
  if (config.kind == "dpo") prefixes.insert(prefixes.end(), {"rewards/", "logps/"});
  require_measured(begins_with_any(name, prefixes) || begins_with_any(name, kShared), keys,
                   fmt::format("is measured by `roll train`; here use val/loss or {}/loss", config.kind), check);
  const bool validates = !config.validation.data_args.file_name.empty();
  const bool repeats = config.eval_steps > 0 || keys.early_stopping_patience == 0;  // false: only measured at the end
  if (name.starts_with("val/")) require_measured(validates && repeats, keys, kNoValidation, check);
}

}  // namespace roll
