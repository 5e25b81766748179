#include "collect/turn_source.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "checkpoint/temporary_folder.h"
#include "dist/mesh.h"
#include "environment/agent_text.h"
#include "environment/environment.h"
#include "job/join.h"
#include "reward/queries.h"
#include "rollout/fake_model.h"
#include "text/tiny_tokenizer.h"

namespace roll {

namespace {

constexpr int64_t kLevels = 3, kSamples = 2, kTurnTokens = 5;

struct Played {
  std::map<std::pair<int64_t, int64_t>, std::string> trajectories;  // in words, by level and sample
  int64_t num_said = 0, num_drawn = 0;                              // tokens of the model
  int64_t num_servings = 0, num_of_several = 0;                     // trajectories that several versions drew
};

class Numbers {
 public:
  /// Five turns of guessing numbers, each of as many tokens as it may have.
  explicit Numbers(const char* manager) : environments_{{"Number", guessing(manager)}}, pool_(environments_) {
    write_tiny_tokenizer(folder_.path(), {.words = {}, .more_special_tokens = {}});
    tokenizer_.emplace(Tokenizer::load(folder_.path()));
    tokens_.emplace(ChatTemplate::load(folder_.path(), "chatml"), *tokenizer_);
    for (uint64_t seed = 0; seed < kLevels; ++seed) rows_.push_back(level(seed));
  }

  /// Pauses after so many rounds of news, again and again; 0: never.
  Played play(int64_t pauses_after) {
    Played played;
    const auto alone = make_communicator({.kind = Transport::kSingle});
    Mesh mesh(*alone, {});
    DomainRewards rewards({{"Number", {.reward = {.type = ExactMatchArgs()}}}}, 30);
    std::vector<Prompt> prompts;
    for (const Row& row : rows_) prompts.push_back({.row = borrowed(row), .number = prompts.size()});
    RolloutCoordinator collection(mesh, rewards,
                                  {.prompts = prompts, .num_samples = kSamples, .expected_length = [](const Prompt&) {
                                     return std::optional<double>();
                                   }});
    Trajectories open;
    FakeModel model({.num_slots = 4, .max_length = kLength, .vocab_size = tokenizer_->vocab_size(), .page_size = 8});
    PagePool pages(model.num_pages(), model.page_size());
    const auto on_over = [&](int64_t request, const Generation& said, const Trajectory* trajectory) {
      const auto& [level, sample] = collection.sample(request);
      std::string text = fmt::format("{} {}", fmt::join(said.ids, ","), fmt::join(said.log_probs, ","));
      for (const Turn& turn : trajectory->turns) {
        text += fmt::format(" {}+{}", turn.num_tokens, turn.num_environment_tokens);
        played.num_said += turn.num_tokens;
      }
      played.trajectories[{level, sample}] = text;
      const auto weights = collection.weight_runs(request, std::ssize(said.ids));
      played.num_of_several += weights.size() > 1;
      int64_t of_weights = 0;
      for (const WeightsRun& run : weights) of_weights += run.num_tokens;
      CHECK(of_weights == std::ssize(said.ids));
      collection.finished(request, {});
    };
    do {
      REQUIRE(played.num_servings < 1000);
      int64_t num_asked = 0;
      RolloutCoordinator::Terms terms{.version = played.num_servings++};
      if (pauses_after > 0) terms.should_pause = [&] { return ++num_asked > pauses_after; };
      collection.begin(terms);
      TurnSource turns(collection, mesh, {environments_, pool_, *tokens_}, {kLength, kLength, params_.generating}, open,
                       on_over);
      SamplerCounts counts;
      const auto on_done = [&](int64_t served, const Generation& said) { turns.on_generated(served, said); };
      const auto decode = [&](std::span<const int64_t> ids, bool skips) { return tokenizer_->decode(ids, skips); };
      collection.end(turns.by_request(serve(model, pages, decode, turns, params_, on_done, {.counts = &counts})));
      played.num_drawn += counts.drawn;
    } while (!collection.is_complete());
    return played;
  }

 private:
  static constexpr int64_t kLength = 1200;

  static EnvironmentConfig guessing(const char* manager) {
    EnvironmentConfig config;
    config.env_type = "guess_the_number";
    config.env_manager_cls = manager;
    config.max_steps = 5;
    config.max_tokens_per_step = kTurnTokens;
    config.env_config.action_pattern = "(none)";
    return config;
  }

  Row level(uint64_t seed) const {
    const EnvironmentConfig& config = environments_.at("Number");
    const Opening opening = make_environment(config, "Number")->reset(seed);
    Row row;
    row.id = fmt::format("{}", seed);
    row.domain = "Number";
    row.messages = first_messages(config, opening);
    row.raw = Json{{"seed", seed}, {"observation", opening.observation}, {"instruction", opening.instruction}};
    row.prompt_ids = tokens_->prompt(*row.messages);
    return row;
  }

  test::TemporaryFolder folder_;
  EnvironmentsByTag environments_;
  EnvironmentPool pool_;
  std::optional<Tokenizer> tokenizer_;
  std::optional<TurnTokens> tokens_;
  std::vector<Row> rows_;
  SamplingParams params_{.generating = {.max_new_tokens = kTurnTokens, .temperature = 1, .top_p = 1, .top_k = 0},
                         .continues_responses = true};
};

}  // namespace

TEST_CASE("a pause in the midst of turns keeps what was drawn of them, whatever they see", "[train]") {
  for (const char* manager : {"TrajEnvManager", "StepEnvManager"}) {
    CAPTURE(manager);
    Numbers numbers(manager);
    const Played whole = numbers.play(0);
    REQUIRE(std::ssize(whole.trajectories) == kLevels * kSamples);
    CHECK(whole.num_said > kLevels * kSamples * 4 * kTurnTokens);
    CHECK(whole.num_drawn == whole.num_said);
    for (const int64_t pauses_after : {2, 3, 7}) {
      CAPTURE(pauses_after);
      const Played paused = numbers.play(pauses_after);
      CHECK(paused.num_servings > 3);
      CHECK(paused.num_of_several > 0);
      CHECK(paused.trajectories == whole.trajectories);
      CHECK(paused.num_drawn == whole.num_drawn);  // no token twice
    }
  }
}

}  // namespace roll
