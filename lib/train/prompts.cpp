#include "train/prompts.h"

#include <algorithm>

#include "base/error.h"
#include "data/leaks.h"
#include "data/tokenise.h"

namespace roll {

namespace {

std::string template_name(const PromptSource& source, const std::string& tag) {
  const auto own = source.tag_to_template.find(tag);
  if (own != source.tag_to_template.end()) return own->second;
  return source.data.template_name.value_or(source.global_template.value_or("native"));
}

}  // namespace

PromptEncoder::PromptEncoder(const PromptSource& source, const Tokenizer& tokenizer)
    : source_(source), tokenizer_(tokenizer) {
  std::vector<std::string> names = {template_name(source, "")};
  for (const auto& [tag, name] : source.tag_to_template) names.push_back(name);
  // A raw-prompt data set needs no template of the model's.
  const bool needs_native = source.data.messages.has_value() || !source.data.prompt.has_value();
  for (const auto& name : names)
    if (!templates_.contains(name) && (name != "native" || needs_native))
      templates_.emplace(name, ChatTemplate::load(source.model_folder, name, source.data.enable_thinking));
}

std::vector<int64_t> PromptEncoder::operator()(const Row& row) const {
  if (!row.messages) return tokenizer_.encode(row.prompt);
  const auto found = templates_.find(template_name(source_, row.tag));
  if (found == templates_.end())
    throw user_error("{}: the row has messages, but data_args name only a prompt column; set data_args.messages",
                     row.origin);
  try {
    return tokenizer_.encode(found->second.render(*row.messages, /*add_generation_prompt=*/true),
                             /*parse_special=*/true, /*add_special=*/false);
  } catch (const UserError& e) {
    throw user_error("{}: {}", row.origin, e.what());
  }
}

std::vector<Row> load_prompts(const PromptSource& source, const Tokenizer& tokenizer, const std::string& what,
                              Log& log) {
  auto rows = read_rows(source.data.file_name, {source.data.messages, source.data.prompt});
  if (!source.domains.empty()) assign_domains(rows, source.domains);
  if (source.rules) check_reward_rows(rows, *source.rules);
  if (log.is_first())
    for (const std::string& warning : warnings_of_prompts(rows)) log.warn("{}: {}", what, warning);
  const auto total = rows.size();
  const PromptEncoder encode(source, tokenizer);
  const auto dropped =
      tokenise_rows(rows, std::cref(encode), source.prompt_length, source.data.preprocessing_num_workers);
  log.info("{}: {} rows{}", what, rows.size(),
           dropped.total() ? fmt::format(" ({} of {} dropped: {} empty, {} longer than {} tokens)", dropped.total(),
                                         total, dropped.empty, dropped.too_long, source.prompt_length)
                           : "");
  return rows;
}

PromptSource source_of(const Config& config, const std::filesystem::path& model_folder, const DataArgs& data,
                       int64_t prompt_length, const DomainRules& rules) {
  PromptSource source{.model_folder = model_folder,
                      .data = data,
                      .global_template = config.global_template,
                      .tag_to_template = config.tag_to_template,
                      .domains = {},
                      .rules = &rules,
                      .prompt_length = prompt_length};
  for (const auto& [domain, worker] : config.rewards) source.domains[domain] = worker.reward.tag_included;
  return source;
}

namespace {

/// Difficulties off the scale all weigh as its ends do.
void warn_of_difficulties(const std::vector<Row>& rows, const LossConfig& loss, Log& log) {
  if (!loss.difficulty_loss_weight) return;
  const double low = loss.difficulty_range[0], high = loss.difficulty_range[1];
  const auto num_outside =
      std::ranges::count_if(rows, [&](const Row& row) { return row.difficulty < low || row.difficulty > high; });
  if (num_outside == 0) return;
  const auto [easiest, hardest] = std::ranges::minmax_element(rows, {}, &Row::difficulty);
  log.warn(
      "{} of {} training prompts have a difficulty outside of difficulty_range = [{}, {}] and weigh as its ends do; "
      "theirs are in {}..{}: declare that range",
      num_outside, rows.size(), low, high, easiest->difficulty, hardest->difficulty);
}

}  // namespace

PromptStream open_training_prompts(const Config& config, const std::filesystem::path& model_folder,
                                   const Tokenizer& tokenizer, Log& log) {
  const DataArgs& data = config.actor_train.data_args;
  const DomainRules rules = rules_of(config);
  auto rows = load_prompts(source_of(config, model_folder, data, config.prompt_length, rules), tokenizer,
                           "training prompts", log);
  if (log.is_first()) warn_of_difficulties(rows, config.loss, log);
  return {std::move(rows), data.domain_interleave_probs, static_cast<uint64_t>(config.seed)};
}

std::vector<Row> load_validation_prompts(const Config& config, const std::filesystem::path& model_folder,
                                         const Tokenizer& tokenizer, Log& log) {
  if (!config.validates()) return {};
  const int64_t prompt_length = config.val_prompt_length.value_or(config.prompt_length);
  const DomainRules rules = rules_of(config);
  return load_prompts(source_of(config, model_folder, config.validation.data_args, prompt_length, rules), tokenizer,
                      "validation prompts", log);
}

}  // namespace roll
