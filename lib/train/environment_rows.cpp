#include "train/environment_rows.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "data/tokenise.h"
#include "environment/agent_text.h"
#include "environment/environment.h"
#include "settings/agentic.h"
#include "train/prompts.h"

namespace roll {

namespace {

constexpr int64_t kMostFailures = 3;  // of levels in a row, before a run has begun

/// Whole numbers that JSON keeps.
uint64_t level_seed(const Config& config, const std::string& tag, bool validates, int64_t number) {
  const uint64_t bits = random_bits({.seed = static_cast<uint64_t>(config.seed) ^ fnv1a(tag),
                                     .purpose = Purpose::kLevel,
                                     .step = validates ? 1U : 0U,
                                     .sequence = static_cast<uint64_t>(number)});
  return bits / 4 * 2 + (validates ? 1 : 0);
}

class LevelMaker {
 public:
  LevelMaker(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer, Log& log)
      : config_(config),
        log_(log),
        environments_(played_environments(config)),
        source_(source_of(config, model_folder, config.actor_train.data_args, config.prompt_length, rules_)),
        encode_(source_, tokenizer) {}

  void make(const std::map<std::string, int64_t>& counts, bool validates, RowStore& rows) {
    for (const auto& [tag, count] : counts) {
      const EnvironmentConfig& game = environments_.at(tag);
      const auto environment = game.env_type->make(game.env_config, "custom_envs." + tag + ".env_config.");
      std::set<std::string>& validated = validated_[tag];
      std::vector<Row> levels;
      for (int64_t number = 0; number < count; ++number) {
        auto level = begin(*environment, tag, level_seed(config_, tag, validates, number));
        if (!level) continue;
        const auto observation = level->raw.at("observation").get<std::string>();
        if (!validates && game.env_type->shows_level && validated.contains(observation)) continue;
        levels.push_back(std::move(*level));
        if (validates) validated.insert(observation);
      }
      const int64_t length = validates ? config_.val_prompt_length.value() : config_.prompt_length;
      const DroppedRows dropped = tokenise_rows(levels, std::cref(encode_), length, 1);
      require_some_left(dropped, std::ssize(levels) + dropped.total(), length);
      log_.info("{} levels of {}: {}", validates ? "validation" : "training", tag, levels.size());
      for (const Row& level : levels) rows.add(level);
    }
  }

 private:
  std::optional<Row> begin(Environment& environment, const std::string& tag, uint64_t seed) {
    Opening opening;
    try {
      opening = environment.reset(seed);
      num_failures_ = 0;
    } catch (const EnvironmentFailed& failure) {
      if (++num_failures_ == kMostFailures)
        throw user_error("custom_envs.{}: no level begins, {} in a row; the last: the environment {}", tag,
                         num_failures_, failure.what());
      log_.warn("custom_envs.{}: the level of seed {} is left out: the environment {}", tag, seed, failure.what());
      return std::nullopt;
    }
    Row row;
    row.id = fmt::format("{}:{}", tag, seed);
    row.origin = fmt::format("custom_envs.{}: seed {}", tag, seed);
    row.tag = row.domain = tag;
    row.messages = first_messages(environments_.at(tag), opening);
    row.raw = Json{{"id", row.id}, {"tag", tag}, {"seed", seed}, {"observation", opening.observation}};
    return row;
  }

  const Config& config_;
  Log& log_;
  const std::map<std::string, EnvironmentConfig> environments_;
  const DomainRules rules_{};
  const PromptSource source_;
  const PromptEncoder encode_;
  std::map<std::string, std::set<std::string>> validated_;  // observations, by tag
  int64_t num_failures_ = 0;                                // in a row
};

}  // namespace

Levels make_levels(const Config& config, const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                   Log& log) {
  LevelMaker maker(config, model_folder, tokenizer, log);
  Levels levels;
  if (config.agentic.validates()) maker.make(validation_levels(config), true, levels.validation);
  maker.make(training_levels(config), false, levels.training);
  return levels;
}

}  // namespace roll
