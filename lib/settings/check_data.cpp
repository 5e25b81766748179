#include <algorithm>
#include <functional>
#include <set>

#include "base/file.h"
#include "base/nearest.h"
#include "checkpoint/manifest.h"
#include "data/domains.h"
#include "data/learnt_rows.h"
#include "data/prompt_stream.h"
#include "data/row_files.h"
#include "data/row_forms.h"
#include "evaluation/measured_set.h"
#include "settings/checks.h"
#include "settings/dpo_config.h"
#include "settings/reward_rows.h"
#include "text/chat_template.h"
#include "track/metric_reference.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr const char* kNameRows = "name the files of the training rows";
constexpr const char* kNameSetRows = "name the files of the set's rows";
constexpr size_t kBytesRead = 1 << 20;  // per file: enough to find the usual mistakes quickly

UserError no_rows(const fs::path& file) {
  return user_error(R"({}: has no rows; write one JSON object per line, as {{"messages": [...]}})", file.string());
}

std::vector<Row> first_rows(const fs::path& file, const RowColumns& columns) {
  RowFile in(file, columns);
  std::vector<Row> rows;
  size_t num_bytes = 0;
  for (Row row; num_bytes < kBytesRead && in.next(row); rows.push_back(std::move(row)))
    num_bytes += to_line(row.raw).size();
  if (rows.empty()) throw no_rows(file);
  return rows;
}

void check_template(const std::string& name, const auto& member, Checker& check) {
  const auto& templates = ChatTemplate::names();
  check.require(std::find(templates.begin(), templates.end(), name) != templates.end(), member,
                "there is no template {}; the templates are {}{}", name, fmt::join(templates, ", "),
                did_you_mean(name, templates));
}

void check_templates(const std::optional<std::string>& global, const DataArgs& data, Checker& check) {
  // An inherited value is checked at the key that it comes from.
  if (data.template_name && !global && check.is_set(data.template_name))
    check_template(*data.template_name, data.template_name, check);
  if (data.template_name && global && *data.template_name != *global)
    check.note(fmt::format("{} takes precedence over {}", check.name(global), check.name(data.template_name)));
}

/// Tags and rewards of the domains that rows may belong to; without tags, rows need no domain.
struct Domains {
  DomainTags tags{};
  DomainRules rules{};
};

/// Reads the beginning of every file in the form that the run trains on.
void check_learnt_rows(const std::vector<fs::path>& files, const DataArgs& data, const RowConfig& config) {
  const auto* const pairs = config.kind == "dpo" ? static_cast<const DpoConfig*>(&config) : nullptr;
  for (const fs::path& file : files) {
    LearntFile in(file, data, pairs ? LearntRows::kPairs : LearntRows::kResponses);
    size_t num_bytes = 0;
    for (Row row; num_bytes < kBytesRead && in.next(row); num_bytes += to_line(row.raw).size()) {
      if (pairs)
        pair_form(row, {in.columns(), pairs->chosen_key, pairs->rejected_key});
      else
        sft_form(row, {in.columns(), data.response});
    }
    if (num_bytes == 0) throw no_rows(file);
  }
}

/// Reads the beginning of every file.
void check_rows(const std::vector<fs::path>& files, const DataArgs& data, const Domains& domains) {
  for (const fs::path& file : files) {
    auto rows = first_rows(file, configured_columns(data));
    if (!domains.tags.empty()) assign_domains(rows, domains.tags);
    check_reward_rows(rows, domains.rules);
  }
}

std::vector<fs::path> existing_files(const DataArgs& data, bool offline, Checker& check) {
  if (!offline) return expand_files(data.file_name, data.split);
  std::vector<fs::path> files;
  for (const std::string& pattern : data.file_name) try {
      for (const fs::path& file : expand_files({pattern}, data.split)) files.push_back(file);
    } catch (const UserError&) {
      check.note(fmt::format("{}: {} is not on this machine, so its rows are not checked (--offline)",
                             check.key(data.file_name), pattern));
    }
  return files;
}

void check_files(const DataArgs& data, const std::function<void(const std::vector<fs::path>& files)>& check_all,
                 bool offline, Checker& check) {
  std::vector<fs::path> files;
  check.collect_named(data.file_name, [&] {
    try {
      files = existing_files(data, offline, check);
    } catch (const UserError& e) {  // "name: rule"
      throw user_error("{} = {}", check.key(data.file_name), e.what());
    }
  });
  check.collect(data.file_name, [&] { check_all(files); });
}

void check_files(const DataArgs& data, const Domains& domains, bool offline, Checker& check) {
  check_files(
      data, [&](const std::vector<fs::path>& files) { check_rows(files, data, domains); }, offline, check);
}

/// Checks the domain shares given at `key`.
void check_shares(const std::map<std::string, double>& shares, const auto& key, const Config& config, Checker& check) {
  std::vector<std::string> domains;
  for (const auto& [name, reward] : config.rewards) domains.push_back(name);
  double sum = 0;
  bool is_valid = true;
  for (const auto& [domain, share] : shares) {
    sum += share;
    is_valid &=
        check.require(share >= 0 && share <= 1, key, "the share of {} is {}; it must be in 0..1", domain, share);
    check.require(config.rewards.contains(domain), key, "the domain {} has no reward; rewards has {}{}", domain,
                  domains.empty() ? "none" : fmt::format("{}", fmt::join(domains, ", ")),
                  did_you_mean(domain, domains));
  }
  const bool is_whole = check.require(std::abs(sum - 1) < 1e-6, key, "the shares sum to {}; they must sum to 1", sum);
  if (!is_whole || !is_valid) return;
  for (const auto& [domain, prompts] : split_by_share(shares, config.prompts_per_step()))
    check.require(prompts > 0 || shares.at(domain) == 0, key,
                  "the share of {} is {}, which gives none of the prompts of a step ({}); raise one of the two, or "
                  "remove the domain",
                  domain, shares.at(domain), check.name(config.rollout_batch_size));
}

void check_curriculum(const Config& config, Checker& check) {
  const DataArgs& data = config.actor_train.data_args;
  if (!data.domain_interleave_probs.empty())
    check_shares(data.domain_interleave_probs, data.domain_interleave_probs, config, check);
  const auto& schedule = data.domain_interleave_schedule;
  check.require(schedule.empty() || !data.domain_interleave_probs.empty(), schedule,
                "needs the shares of step 1; set {} to these", check.key(data.domain_interleave_probs));
  int64_t previous_step = 1;
  for (const ScheduledShares& scheduled : schedule) {
    check.require(scheduled.step > previous_step, scheduled.step,
                  "the steps of a schedule must rise, from 2 on, but this one follows step {}", previous_step);
    previous_step = scheduled.step;
    check_shares(scheduled.probs, scheduled.probs, config, check);
  }
}

/// Rejects curriculum keys for rows that are read in file order or shuffled separately.
void refuse_curriculum(const DataArgs& data, Checker& check) {
  constexpr const char* kTrainingOnly = "belongs to actor_train.data_args of `roll train`; remove it here";
  check.require(data.sampler == DataSampler::kShuffled, data.sampler, kTrainingOnly);
  check.require(data.domain_interleave_schedule.empty(), data.domain_interleave_schedule, kTrainingOnly);
}

void check_prompt_template(const DataArgs& data, Checker& check) {
  if (!data.prompt_template) return;
  const std::string& pattern = *data.prompt_template;
  int64_t num_marks = 0;
  for (size_t found = pattern.find(kPromptMark); found != std::string::npos; ++num_marks)
    found = pattern.find(kPromptMark, found + 1);
  check.require(num_marks == 1, data.prompt_template,
                "must contain the mark {} exactly once, where the row's text is inserted; the text has {} such marks",
                kPromptMark, num_marks);
}

/// Checks that no two domains have the same tag, because both would claim its rows.
bool check_tags(const Config& config, Checker& check) {
  bool is_unique = true;
  std::map<std::string, std::string> domain_by_tag;
  for (const auto& [domain, worker] : config.rewards)
    for (const std::string& tag : worker.reward.tag_included) {
      const auto [found, is_new] = domain_by_tag.emplace(tag, domain);
      is_unique &=
          check.require(is_new || found->second == domain, worker.reward.tag_included,
                        "the tag {} already belongs to {}; remove the tag from one of the two", tag, found->second);
    }
  return is_unique;
}

void check_domain_names(const Config& config, Checker& check) {
  for (const auto& [domain, worker] : config.rewards)
    check.require(
        !is_open_family(domain), config.rewards,
        "a domain cannot be named {}: its metrics {}/... would mix with the run's metrics; choose another name", domain,
        domain);
}

/// Checks a set's name, which is part of file and metric names.
void check_set_name(const std::string& name, const auto& sets, Checker& check) {
  check.require(is_valid_set_name(name), sets,
                "the set is named '{}'; a name may contain only letters, digits, - and _", name);
}

/// Returns the domains' rewards, except those that cannot be made.
DomainRules check_rewards(const Config& config, bool offline, Checker& check) {
  DomainRules rules;
  for (const auto& [domain, worker] : config.rewards) {
    const RewardArgs& reward = worker.reward;
    const std::string key_prefix = fmt::format("{}.{}.", check.key(config.rewards), domain);
    const auto make = [&] {
      auto rule = make_reward(reward, config.response_length.value_or(0), key_prefix);
      if (!offline) rule->check_files();
      rules[domain] = std::move(rule);
    };
    check.is_set(reward.type)    ? check.collect_named(reward.type, make)
    : check.is_set(reward.terms) ? check.collect_named(reward.terms, make)
                                 : check.collect_named(reward.worker_cls, make);
  }
  return rules;
}

void note_reward_model(const Config& config, Checker& check) {
  const auto is_shared = [](const auto& domain) { return domain.second.shares_model(); };
  if (check.is_set(config.reward_model) && !std::ranges::any_of(config.rewards, is_shared))
    check.note(fmt::format("{} has no effect, because no reward has judge_model_type: cluster",
                           check.key(config.reward_model)));
}

DomainTags domain_tags(const Config& config) {
  DomainTags tags;
  for (const auto& [domain, worker] : config.rewards) tags[domain] = worker.reward.tag_included;
  return tags;
}

template <class Key>
void check_output_path(const Key& key, const std::optional<std::string>& path, Checker& check) {
  const auto checkpoint = path && !path->empty() ? checkpoint_around(*path) : std::nullopt;
  check.require(!checkpoint, key, "lies in the checkpoint {}, which must not change; choose another folder",
                checkpoint ? checkpoint->string() : "");
}

/// Checks that the run writes into no existing checkpoint.
template <class C>
void check_output_paths(const C& config, Checker& check) {
  check_output_path(config.output_dir, config.output_dir, check);
  check_output_path(config.logging_dir, config.logging_dir, check);
  check_output_path(config.track.tracker_kwargs.log_dir, config.track.tracker_kwargs.log_dir, check);
  check_output_path(config.track.tracker_kwargs.tracking_uri, config.track.tracker_kwargs.tracking_uri, check);
}

}  // namespace

void check_data(const Config& config, bool offline, Checker& check) {
  check_output_paths(config, check);
  check_output_path(config.rollout_dump_dir, config.rollout_dump_dir, check);
  check_best_metric(config, offline, check);
  if (config.global_template) check_template(*config.global_template, config.global_template, check);
  for (const auto& [tag, name] : config.tag_to_template) check_template(name, config.tag_to_template, check);
  check_templates(config.global_template, config.actor_train.data_args, check);
  check_templates(config.global_template, config.validation.data_args, check);
  check_prompt_template(config.actor_train.data_args, check);
  check_prompt_template(config.validation.data_args, check);
  Domains domains{.rules = check_rewards(config, offline, check)};
  note_reward_model(config, check);
  if (config.rollout_replay)
    return void(check.require(is_folder(*config.rollout_replay), config.rollout_replay, "there is no such folder"));
  check.require_given(!config.rewards.empty(), config.rewards,
                      "describe at least one reward, for example rewards: {math: {type: math_rule}}");
  check_domain_names(config, check);
  check_curriculum(config, check);
  refuse_curriculum(config.validation.data_args, check);
  if (check_tags(config, check)) domains.tags = domain_tags(config);
  const DataArgs& data = config.actor_train.data_args;
  if (!config.agentic.is_used() && check.require_given(!data.file_name.empty(), data.file_name, kNameRows))
    check_files(data, domains, offline, check);
  const DataArgs& validation = config.validation.data_args;
  if (!validation.file_name.empty()) check_files(validation, domains, offline, check);
  for (const auto& [name, set] : config.validation.sets) {
    check_set_name(name, config.validation.sets, check);
    check_templates(config.global_template, set.data_args, check);
    check_prompt_template(set.data_args, check);
    if (check.require(!set.data_args.file_name.empty(), set.data_args.file_name, kNameSetRows))
      check_files(set.data_args, domains, offline, check);
  }
}

void check_data(const RowConfig& config, bool offline, Checker& check) {
  check_output_paths(config, check);
  check_best_metric(config, check);
  if (config.global_template) check_template(*config.global_template, config.global_template, check);
  for (const DataArgs* data : {&config.trained.data_args, &config.validation.data_args}) {
    check_templates(config.global_template, *data, check);
    refuse_curriculum(*data, check);
    check_prompt_template(*data, check);
    check.require(config.kind == "dpo" || !data->prompt || data->response, data->response,
                  "{} needs this key: the column with the text to learn", check.name(data->prompt));
    const auto check_all = [&](const std::vector<fs::path>& files) { check_learnt_rows(files, *data, config); };
    if (!data->file_name.empty()) check_files(*data, check_all, offline, check);
  }
  const auto& files = config.trained.data_args.file_name;
  check.require_given(!files.empty(), files, kNameRows);
}

}  // namespace roll
