#include "train/prompts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "data/chats.h"
#include "data/leaks.h"
#include "data/row_files.h"
#include "data/tokenise.h"
#include "track/progress.h"
#include "train/environment_rows.h"

namespace roll {

namespace {

constexpr int64_t kValidationInMemory = int64_t{8} << 20;  // bytes per set; there may be many sets

std::string template_name(const PromptSource& source, const std::string& tag) {
  const auto found = source.tag_to_template.find(tag);
  if (found != source.tag_to_template.end()) return found->second;
  return source.data.template_name.value_or(source.global_template.value_or("native"));
}

Json row_variables(const Row& row) {
  return row.tools.is_null() ? Json::object() : Json{{"tools", row.tools}};
}

}  // namespace

PromptEncoder::PromptEncoder(const PromptSource& source, const Tokenizer& tokenizer)
    : source_(source), tokenizer_(tokenizer) {
  std::vector<std::string> names = {template_name(source, "")};
  for (const auto& [tag, name] : source.tag_to_template) names.push_back(name);
  // Rows with raw prompts need no native template.
  const bool needs_native = source.data.messages || source.data.question || !source.data.prompt;
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
  const auto render = [&](const Json& variables) {
    return found->second.render(*row.messages, /*add_generation_prompt=*/true, variables);
  };
  return tokenizer_.encode(render_row(render, row_variables(row), row.origin), /*parse_special=*/true,
                           /*add_special=*/false);
}

namespace {

/// Checks that need all rows of a data set.
class PromptCheck {
 public:
  PromptCheck(const PromptSource& source, const Tokenizer& tokenizer)
      : source_(source), encode_(source, tokenizer), rewards_(source.rules ? *source.rules : none_) {}

  /// Tokenises the rows and drops those that are empty or too long.
  void add(std::vector<Row>& rows) {
    if (!source_.domains.empty()) assign_domains(rows, source_.domains);
    rewards_.add(rows);
    for (const Row& row : rows) warnings_.add(row);
    total_ += std::ssize(rows);
    dropped_ += tokenise_rows(rows, std::cref(encode_), source_.prompt_length, source_.data.preprocessing_num_workers);
  }

  void end(const std::string& title, Log& log) const {
    rewards_.throw_if_any();
    if (log.is_first())
      for (const std::string& warning : warnings_.all()) log.warn("{}: {}", title, warning);
    require_some_left(dropped_, total_, source_.prompt_length);
    log.info("{}: {} rows{}", title, total_ - dropped_.total(),
             dropped_.total() ? fmt::format(" ({} of {} dropped: {} empty, {} longer than {} tokens)", dropped_.total(),
                                            total_, dropped_.empty, dropped_.too_long, source_.prompt_length)
                              : "");
  }

 private:
  const PromptSource& source_;
  const DomainRules none_{};
  PromptEncoder encode_;
  RewardRowCheck rewards_;
  PromptWarnings warnings_;
  DroppedRows dropped_;
  int64_t total_ = 0;
};

}  // namespace

void for_each_prompt(const PromptSource& source, const Tokenizer& tokenizer, const std::string& title, Log& log,
                     const std::function<void(Row)>& take) {
  PromptCheck check(source, tokenizer);
  Progress progress(log, title, 0, "rows");
  read_batches(source.data, {.take =
                                 [&](std::vector<Row>& rows) {
                                   progress.advance(std::ssize(rows));
                                   check.add(rows);
                                   for (Row& row : rows) take(std::move(row));
                                 },
                             .note_layout = [&](const std::string& note) { log.info("{}: {}", title, note); }});
  check.end(title, log);
}

PromptSource make_prompt_source(const Config& config, const std::filesystem::path& model_folder, const DataArgs& data,
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

/// Warns about difficulties outside difficulty_range, which are clamped to it.
class DifficultyCheck {
 public:
  explicit DifficultyCheck(const LossConfig& loss) : loss_(loss) {}

  void add(double difficulty) {
    const double low = loss_.difficulty_range[0], high = loss_.difficulty_range[1];
    num_outside_ += difficulty < low || difficulty > high;
    easiest_ = ++num_rows_ == 1 ? difficulty : std::min(easiest_, difficulty);
    hardest_ = num_rows_ == 1 ? difficulty : std::max(hardest_, difficulty);
  }

  void warn(Log& log) const {
    if (!loss_.difficulty_loss_weight || num_outside_ == 0) return;
    log.warn(
        "{} of {} training prompts have a difficulty outside difficulty_range = [{}, {}] and get the weight of its "
        "nearer end; the difficulties of all prompts are in {}..{}: set difficulty_range to that",
        num_outside_, num_rows_, loss_.difficulty_range[0], loss_.difficulty_range[1], easiest_, hardest_);
  }

 private:
  const LossConfig& loss_;
  int64_t num_rows_ = 0, num_outside_ = 0;
  double easiest_ = 0, hardest_ = 0;
};

}  // namespace

PromptStream open_training_prompts(const Config& config, const std::filesystem::path& model_folder,
                                   const Tokenizer& tokenizer, Log& log) {
  const DataArgs& data = config.actor_train.data_args;
  if (config.agentic.is_used())
    return {make_training_levels(config, model_folder, tokenizer, log), data.domain_interleave_probs,
            static_cast<uint64_t>(config.seed), make_curriculum(data)};
  const DomainRules rules = make_domain_rules(config);
  RowStore rows;
  DifficultyCheck difficulties(config.loss);
  for_each_prompt(make_prompt_source(config, model_folder, data, config.prompt_length, rules), tokenizer,
                  "training prompts", log, [&](const Row& row) {
                    difficulties.add(row.difficulty);
                    rows.add(row);
                  });
  if (log.is_first()) difficulties.warn(log);
  return {std::move(rows), data.domain_interleave_probs, static_cast<uint64_t>(config.seed), make_curriculum(data)};
}

std::map<std::string, RowStore> load_validations(const Config& config, const std::filesystem::path& model_folder,
                                                 const Tokenizer& tokenizer, Log& log) {
  const int64_t prompt_length = config.val_prompt_length.value_or(config.prompt_length);
  const DomainRules rules = make_domain_rules(config);
  std::map<std::string, RowStore> validations;
  const auto load = [&](const std::string& name, const DataArgs& data) {
    RowStore& rows = validations.emplace(name, RowStore(kValidationInMemory)).first->second;
    for_each_prompt(make_prompt_source(config, model_folder, data, prompt_length, rules), tokenizer,
                    name.empty() ? "validation prompts" : "prompts of validation set " + name, log,
                    [&](const Row& row) { rows.add(row); });
  };
  if (config.agentic.validates())
    validations.emplace("", make_validation_levels(config, model_folder, tokenizer, log));
  else if (config.validates_rows())
    load("", config.validation.data_args);
  for (const auto& [name, set] : config.validation.sets) load(name, set.data_args);
  return validations;
}

}  // namespace roll
