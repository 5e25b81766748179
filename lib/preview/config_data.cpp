#include "preview/config_data.h"

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "checkpoint/hub_cache.h"
#include "data/leaks.h"
#include "data/row_files.h"
#include "data/tokenise.h"
#include "preview/data_view.h"
#include "preview/missing_part.h"
#include "train/environment_rows.h"
#include "train/prompts.h"

namespace roll {

namespace {

constexpr int64_t kMaxGoldsPerDomain = 2000;  // golds per domain: a reliable share, within milliseconds

constexpr int64_t kMaxKeptPrompts = 32;

/// One data set of a configuration.
struct DataSet {
  std::string name;
  std::string key;  // configuration key of its files
  const DataArgs& data;
  int64_t prompt_length;
  bool is_training = false;
};

std::vector<DataSet> list_data_sets(const Config& config) {
  std::vector<DataSet> sets;
  if (!config.agentic.is_used())  // environments make their levels at the start of the run
    sets.push_back({"training", "actor_train.data_args.file_name", config.actor_train.data_args, config.prompt_length,
                    /*is_training=*/true});
  if (!config.validation.data_args.file_name.empty())
    sets.push_back({"validation", "validation.data_args.file_name", config.validation.data_args,
                    config.val_prompt_length.value_or(config.prompt_length)});
  for (const auto& [name, set] : config.validation.sets)
    sets.push_back({"validation set " + name, fmt::format("validation.sets.{}.data_args.file_name", name),
                    set.data_args, config.val_prompt_length.value_or(config.prompt_length)});
  return sets;
}

const std::string& policy_name(const Config& config) {
  return *config.actor_train.model_args.model_name_or_path;
}

int64_t num_threads(const DataArgs& data) {
  return std::max<int64_t>(data.preprocessing_num_workers, std::thread::hardware_concurrency());
}

void add_view(const DomainView& view, const DataSet& set, const ViewSettings& settings, ConfigData& out) {
  if (view.dropped == view.num_rows)
    throw user_error(
        "prompt_length = {}: all {} {} rows of the domain {} are longer; the shortest has {} tokens; raise "
        "prompt_length",
        settings.prompt_length, view.num_rows, set.name, view.domain, view.shortest);
  out.lines.push_back(fmt::format("{} rows, {}", set.name, summary_line(view, settings)));
  for (const std::string& warning : domain_warnings(view, settings))
    out.warnings.push_back(fmt::format("{} rows, {}", set.name, warning));
}

/// Calls the user's reward code once per domain.
void try_rewards(const RowStore& rows, const DomainRules& rules) {
  for (const auto& [domain, rule] : rules)
    if (const auto found = rows.domains().find(domain); found != rows.domains().end() && rule->is_user_code())
      test_reward_code(rows.at(found->second.rows.front()), *rule, "rewards." + domain);
}

struct ViewedSet {
  std::vector<DomainView> views;
  RowStore rows;
};

/// Loads all rows, checked and tokenized.
RowStore load_set(const PromptSource& source, const DataSet& set, const Tokenizer& tokenizer,
                  PromptWarnings& prompt_warnings, ConfigData& out) {
  RowStore store;
  RewardRowCheck rewards(*source.rules);
  const PromptEncoder encode(source, tokenizer);
  const auto add_rows = [&](std::vector<Row>& rows) {
    assign_domains(rows, source.domains);
    rewards.add(rows);
    for_each_in_threads(std::ssize(rows), num_threads(set.data),
                        [&](int64_t i) { rows[i].prompt_ids = encode(rows[i]); });
    for (const Row& row : rows) {
      prompt_warnings.add(row);
      store.add(row);
      const int64_t length = std::ssize(row.prompt_ids);
      if (!set.is_training || length == 0 || length > set.prompt_length) continue;
      out.lengths.push_back(length);
      if (std::ssize(out.prompts) < kMaxKeptPrompts) out.prompts.push_back(row.prompt_ids);
    }
  };
  try {
    read_batches(source.data, {.take = add_rows, .note_layout = [&](const std::string& note) {
                                 out.lines.push_back(fmt::format("{} rows: {}", set.name, note));
                               }});
    rewards.throw_if_any();
  } catch (const UserError& e) {
    throw user_error("{}: {}", set.key, e.what());
  }
  return store;
}

ViewedSet view_set(const Config& config, const DataSet& set, const Tokenizer& tokenizer, const DomainRules& rules,
                   bool offline, ConfigData& out) {
  const PromptSource source =
      make_prompt_source(config, model_folder(policy_name(config)), set.data, set.prompt_length, rules);
  PromptWarnings prompt_warnings;
  RowStore rows = load_set(source, set, tokenizer, prompt_warnings, out);
  const ViewSettings settings{&tokenizer, set.prompt_length, config.response_length.value_or(0), kMaxGoldsPerDomain};
  auto views = make_domain_views(rows, rules, settings);
  for (const DomainView& view : views) add_view(view, set, settings, out);
  for (const std::string& warning : prompt_warnings.all())
    out.warnings.push_back(fmt::format("{} rows: {}", set.name, warning));
  if (!offline) try_rewards(rows, rules);
  return {std::move(views), std::move(rows)};
}

void warn_unused_domains(const Config& config, const std::vector<DomainView>& views, ConfigData& out) {
  for (const auto& [domain, worker] : config.rewards)
    if (std::ranges::find(views, domain, &DomainView::domain) == views.end())
      out.warnings.push_back(
          fmt::format("rewards.{}: no training row belongs to this domain; add a file with such rows, or list the "
                      "rows' tag in tag_included",
                      domain));
}

}  // namespace

ConfigData view_data(const Config& config, bool offline) {
  ConfigData out;
  if (config.rollout_replay) return out;
  const DomainRules rules = make_domain_rules(config);
  std::optional<Tokenizer> tokenizer;
  std::optional<RowStore> training;
  if (config.agentic.is_used()) {
    out.lines.push_back("training rows: levels of environments, generated when the run starts");
    if (missing_tokenizer(policy_name(config)).empty()) {
      tokenizer = Tokenizer::load(model_folder(policy_name(config)));
      check_shown_tools(config, model_folder(policy_name(config)), *tokenizer);
    }
  }
  for (const DataSet& set : list_data_sets(config)) {
    if (const std::string missing = missing_part(policy_name(config), set.data, offline); !missing.empty()) {
      out.lines.push_back(fmt::format("{} rows: not measured, because {}", set.name, missing));
      continue;
    }
    if (!tokenizer) tokenizer = Tokenizer::load(model_folder(policy_name(config)));
    ViewedSet viewed = view_set(config, set, *tokenizer, rules, offline, out);
    if (set.is_training) {
      warn_unused_domains(config, viewed.views, out);
      training.emplace(std::move(viewed.rows));
    } else if (training) {
      if (const std::string overlap = overlap_warning(training->prompts(), viewed.rows.prompts()); !overlap.empty())
        out.warnings.push_back(overlap);
    }
  }
  return out;
}

}  // namespace roll
