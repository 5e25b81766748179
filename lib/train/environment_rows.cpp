#include "train/environment_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "collect/turn_tokens.h"
#include "data/tokenise.h"
#include "environment/agent_text.h"
#include "environment/environment.h"
#include "settings/agentic.h"
#include "train/prompts.h"

namespace roll {

namespace {

constexpr int64_t kMostFailures = 3;  // consecutive levels that fail before a run begins

/// Returns a level's seed as an integer that JSON can hold exactly.
uint64_t level_seed(const Config& config, const std::string& tag, bool validates, int64_t number) {
  const uint64_t bits = random_bits({.seed = static_cast<uint64_t>(config.seed) ^ fnv1a(tag),
                                     .purpose = Purpose::kLevel,
                                     .step = validates ? 1U : 0U,
                                     .sequence = static_cast<uint64_t>(number)});
  return bits / 4 * 2 + (validates ? 1 : 0);
}

TurnTokens make_turn_tokens(const Config& config, const std::filesystem::path& model_folder,
                            const Tokenizer& tokenizer) {
  const DataArgs& data = config.actor_train.data_args;
  return {ChatTemplate::load(model_folder, data.template_name.value(), data.enable_thinking), tokenizer};
}

class LevelMaker {
 public:
  LevelMaker(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer, Log& log)
      : config_(config),
        log_(log),
        turns_(make_turn_tokens(config, model_folder, tokenizer)),
        environments_(played_environments(config)),
        source_(make_prompt_source(config, model_folder, config.actor_train.data_args, config.prompt_length, rules_)),
        encode_(source_, tokenizer) {}

  RowStore training() {
    RowStore rows;
    for (const auto& [tag, count] : training_levels(config_)) {
      const std::set<std::string> validated = validated_observations(tag);
      std::vector<Row> levels = begin_levels(tag, count, /*validates=*/false);
      std::erase_if(levels, [&](const Row& level) { return validated.contains(first_observation(level)); });
      add("training", tag, std::move(levels), config_.prompt_length, rows);
    }
    return rows;
  }

  RowStore validation() {
    RowStore rows;
    for (const auto& [tag, count] : validation_levels(config_))
      add("validation", tag, begin_levels(tag, count, /*validates=*/true), config_.val_prompt_length.value(), rows);
    return rows;
  }

 private:
  static std::string first_observation(const Row& level) { return level.raw.at("observation").get<std::string>(); }

  /// Returns the observations of validation levels, if the environment's observations identify levels.
  std::set<std::string> validated_observations(const std::string& tag) {
    std::set<std::string> observations;
    if (!config_.agentic.validates() || !environments_.at(tag).env_type->shows_level) return observations;
    const std::map<std::string, int64_t> counts = validation_levels(config_);
    const auto found = counts.find(tag);
    if (found == counts.end()) return observations;
    for (const Row& level : begin_levels(tag, found->second, /*validates=*/true))
      observations.insert(first_observation(level));
    return observations;
  }

  std::vector<Row> begin_levels(const std::string& tag, int64_t count, bool validates) {
    const std::unique_ptr<Environment> environment = make_environment(environments_.at(tag), tag);
    std::vector<Row> levels;
    for (int64_t number = 0; number < count; ++number)
      if (auto level = begin_level(*environment, tag, level_seed(config_, tag, validates, number)))
        levels.push_back(std::move(*level));
    check_tools(levels);
    return levels;
  }

  /// Checks that tools declared by levels reach the model, and that it sees their answers.
  void check_tools(const std::vector<Row>& levels) const {
    Json checked = nullptr;
    for (const Row& level : levels)
      if (!level.tools.is_null() && level.tools != checked) turns_.check("tool", checked = level.tools);
  }

  void add(const char* use, const std::string& tag, std::vector<Row> levels, int64_t length, RowStore& rows) {
    const DroppedRows dropped = tokenise_rows(levels, std::cref(encode_), length, 1);
    require_some_left(dropped, std::ssize(levels) + dropped.total(), length);
    log_.info("{} levels of {}: {}", use, tag, levels.size());
    const bool shows_level = std::ranges::any_of(
        levels, [&](const Row& level) { return first_observation(level) != first_observation(levels[0]); });
    for (const Row& level : levels) rows.add(level, shows_level ? prompt_key(level) : fnv1a(level.id));
  }

  std::optional<Row> begin_level(Environment& environment, const std::string& tag, uint64_t seed) {
    Opening opening;
    try {
      opening = environment.reset(seed);
      num_failures_ = 0;
    } catch (const EnvironmentFailed& failure) {
      if (++num_failures_ == kMostFailures)
        throw user_error("custom_envs.{}: no level can begin: {} failed in a row; the last error: the environment {}",
                         tag, num_failures_, failure.what());
      log_.warn("custom_envs.{}: skips the level of seed {}: the environment {}", tag, seed, failure.what());
      return std::nullopt;
    }
    Row row;
    row.id = fmt::format("{}:{}", tag, seed);
    row.origin = fmt::format("custom_envs.{}: seed {}", tag, seed);
    row.tag = row.domain = tag;
    const Opening shown_texts{turns_.disarmed(opening.instruction), turns_.disarmed(opening.observation)};
    row.messages = first_messages(environments_.at(tag), shown_texts);
    row.tools = environment.tools();
    row.raw = Json{{"id", row.id}, {"tag", tag}, {"seed", seed}, {"observation", opening.observation}};
    if (environments_.at(tag).has_contexts()) {
      row.raw["instruction"] = shown_texts.instruction;
      if (!row.tools.is_null())
        throw user_error(
            "custom_envs.{0}: its levels have tools, but StepEnvManager never shows the model the tools' answers; "
            "set custom_envs.{0}.env_manager_cls: TrajEnvManager",
            tag);
    }
    return row;
  }

  const Config& config_;
  Log& log_;
  const TurnTokens turns_;
  const std::map<std::string, EnvironmentConfig> environments_;
  const DomainRules rules_{};
  const PromptSource source_;
  const PromptEncoder encode_;
  int64_t num_failures_ = 0;  // consecutive
};

}  // namespace

void check_shown_tools(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer) {
  const TurnTokens turns = make_turn_tokens(config, model_folder, tokenizer);
  for (const auto& [tag, environment] : played_environments(config)) {
    if (environment.env_type->is_program) continue;
    if (const Json tools = make_environment(environment, tag)->tools(); !tools.is_null()) turns.check("tool", tools);
  }
}

RowStore make_training_levels(const Config& config, const std::filesystem::path& model_folder,
                              const Tokenizer& tokenizer, Log& log) {
  return LevelMaker(config, model_folder, tokenizer, log).training();
}

RowStore make_validation_levels(const Config& config, const std::filesystem::path& model_folder,
                                const Tokenizer& tokenizer, Log& log) {
  return LevelMaker(config, model_folder, tokenizer, log).validation();
}

}  // namespace roll
