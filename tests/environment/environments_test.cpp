#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/error.h"
#include "environment/agent_text.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {
namespace {

std::unique_ptr<Environment> made(const char* type, const EnvironmentArgs& args) {
  return Chosen<EnvironmentType>(type)->make(args, "env_config.");
}

std::string answer(const std::string& action) {
  return "I go. <answer> " + action + " </answer><|im_end|>";
}

struct Cell {
  size_t row = 0, column = 0;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines{""};
  for (const char c : text) c == '\n' ? lines.emplace_back() : lines.back() += c;
  return lines;
}

std::optional<Cell> found(const std::vector<std::string>& grid, char symbol) {
  for (size_t row = 0; row < grid.size(); ++row)
    if (const size_t column = grid[row].find(symbol); column != std::string::npos) return Cell{row, column};
  return std::nullopt;
}

/// Steps to the goal from each cell, by breadth.
std::map<std::pair<size_t, size_t>, std::pair<int, std::string>> ways(const std::vector<std::string>& grid, Cell goal) {
  std::map<std::pair<size_t, size_t>, std::pair<int, std::string>> known{{{goal.row, goal.column}, {0, ""}}};
  std::vector<std::pair<size_t, size_t>> frontier{{goal.row, goal.column}};
  for (size_t i = 0; i < frontier.size(); ++i) {
    const auto [row, column] = frontier[i];
    const auto add = [&](size_t r, size_t c, const char* move) {
      if (r >= grid.size() || c >= grid.size() || grid[r][c] == 'O' || known.contains({r, c})) return;
      known[{r, c}] = {known[{row, column}].first + 1, move};
      frontier.emplace_back(r, c);
    };
    add(row - 1, column, "Down"), add(row + 1, column, "Up"), add(row, column - 1, "Right"),
        add(row, column + 1, "Left");
  }
  return known;
}

}  // namespace

TEST_CASE("a frozen lake can always be crossed, and the goal alone is worth 1", "[environment]") {
  const auto lake = made("frozen_lake", {.is_slippery = false});
  for (uint64_t seed = 0; seed < 50; ++seed) {
    auto grid = lines_of(lake->reset(seed).observation);
    const Cell goal = found(grid, 'G').value();
    const auto way = ways(grid, goal);
    Reaction last;
    int turns = 0;
    while (!last.is_done) {
      const Cell at = found(grid, 'P').value();
      last = lake->step(answer(way.at({at.row, at.column}).second));
      grid = lines_of(last.observation);
      CHECK(last.reward == (last.is_done ? 1 : 0));
      REQUIRE(++turns < 20);
    }
    CHECK(last.succeeded == true);
    CHECK(last.observation.find("√") != std::string::npos);
  }
}

TEST_CASE("a hole ends it without a reward, a message without an action costs the penalty and moves nothing",
          "[environment]") {
  const auto lake = made("frozen_lake", {.format_penalty = -0.25, .p = 0.5, .is_slippery = false});
  int num_holes = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const std::string before = lake->reset(seed).observation;
    for (const char* nothing : {"", "Right", "<answer>Sideways</answer>", "<answer>", "<answer>Left</answer"}) {
      const Reaction said = lake->step(nothing);
      CHECK(said.observation == before);
      CHECK_FALSE(said.is_valid);
      CHECK(said.reward == -0.25);
    }
    const Reaction moved = lake->step(answer("rIgHt"));
    CHECK(moved.is_valid);
    if (moved.observation.find('X') == std::string::npos) continue;
    ++num_holes;
    CHECK(moved.is_done);
    CHECK(moved.reward == 0);
    CHECK(moved.succeeded == false);
  }
  CHECK(num_holes > 5);
}

TEST_CASE("a level is its seed: seeds differ, and the same one is the same, ice included", "[environment]") {
  for (const char* type : {"frozen_lake", "sokoban", "guess_the_number"}) {
    CAPTURE(type);
    const EnvironmentArgs args{.max_number = 1'000'000};
    const auto one = made(type, args), other = made(type, args);
    const auto played = [](Environment& environment, uint64_t seed) {
      std::string all = environment.reset(seed).observation;
      for (int turn = 0; turn < 6; ++turn) {
        const Reaction reaction = environment.step(answer(turn % 2 ? "Right" : "Down"));
        all += "|" + reaction.observation;
        if (reaction.is_done) break;
      }
      return all;
    };
    other->reset(99), other->step(answer("Up"));
    std::set<std::string> levels;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      CHECK(played(*one, seed) == played(*other, seed));
      levels.insert(played(*one, seed));
    }
    CHECK(levels.size() > (std::string(type) == "guess_the_number" ? 0 : 18));
  }
}

TEST_CASE("on slippery ice a third of the moves goes where it should", "[environment]") {
  const auto lake = made("frozen_lake", {.size = 9, .p = 1});
  std::map<std::string, int> went;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    const Cell before = found(lines_of(lake->reset(seed).observation), 'P').value();
    if (before.row == 0 || before.row == 8 || before.column == 0 || before.column == 8) continue;
    const auto after = found(lines_of(lake->step(answer("Right")).observation), 'P');
    if (!after) continue;
    ++went[after->column == before.column + 1 ? "right"
           : after->row < before.row          ? "up"
           : after->row > before.row          ? "down"
                                              : "left"];
  }
  const int all = went["right"] + went["up"] + went["down"];
  CHECK(went["left"] == 0);
  for (const char* way : {"right", "up", "down"}) CHECK(went[way] == Approx(all / 3.0).epsilon(0.2));
}

TEST_CASE("sokoban: a push counts, boxes stop at walls, and solving it is worth 10 more", "[environment]") {
  const auto room = made("sokoban", {.dim_room = {5, 5}, .search_depth = 12});
  int num_solved = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::string start = room->reset(seed).observation;
    CHECK(found(lines_of(start), 'X').has_value());
    // Breadth-first over messages: each way is played from the start.
    std::vector<std::vector<std::string>> frontier{{}};
    std::set<std::string> seen{start};
    bool is_solved = false;
    for (size_t i = 0; i < frontier.size() && !is_solved && i < 400; ++i)
      for (const char* move : {"Up", "Down", "Left", "Right"}) {
        room->reset(seed);
        double reward = 0;
        Reaction last;
        auto way = frontier[i];
        way.emplace_back(move);
        for (const std::string& action : way) last = room->step(answer(action)), reward += last.reward;
        if (last.is_done) {
          CHECK(reward == Approx(11 - 0.1 * static_cast<double>(way.size())));
          CHECK(last.succeeded == true);
          is_solved = true;
          break;
        }
        if (seen.insert(last.observation).second) frontier.push_back(way);
      }
    num_solved += is_solved;
  }
  CHECK(num_solved == 40);
}

TEST_CASE("guess the number: hints lead to it", "[environment]") {
  const auto game = made("guess_the_number", {.min_number = -50, .max_number = 50});
  std::set<int> secrets;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    game->reset(seed);
    int low = -50, high = 50;
    for (int turn = 0; turn < 7; ++turn) {
      const int guess = low + (high - low) / 2;
      const Reaction reaction = game->step(answer(std::to_string(guess)));
      if (reaction.is_done) {
        CHECK(reaction.reward == 1);
        secrets.insert(guess);
        break;
      }
      (reaction.observation == "It is higher." ? low : high) =
          guess + (reaction.observation == "It is higher." ? 1 : -1);
      CHECK(turn < 6);
    }
    CHECK_FALSE(made("guess_the_number", {})->step("<answer>12x</answer>").is_valid);
  }
  CHECK(secrets.size() > 15);
}

TEST_CASE("arguments that are no use are refused with what would do", "[environment]") {
  const auto why = [](const char* type, const EnvironmentArgs& args) -> std::string {
    try {
      made(type, args);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  using Catch::Contains;
  CHECK_THAT(why("frozen_lake", {.action_pattern = "("}), Contains("env_config.action_pattern = (: "));
  CHECK_THAT(why("frozen_lake", {.action_pattern = "x"}), Contains("no group"));
  CHECK_THAT(why("frozen_lake", {.action_lookup = {{"7", "Left"}}}),
             Contains("7 is not a known number; the numbers are 0 to 3"));
  CHECK_THAT(why("sokoban", {.grid_lookup = {{"0", ""}}}), Contains("the name of 0 is empty"));
  CHECK_THAT(why("sokoban", {.dim_room = {6}}), Contains("must be [rows, columns]"));
  CHECK_THAT(why("sokoban", {.dim_room = {5, 5}, .num_boxes = 9}), Contains("is too many"));
  CHECK_THAT(why("guess_the_number", {.min_number = 3, .max_number = 2}), Contains("is larger than max_number = 2"));
  CHECK_THAT(why("command", {}), Contains("command: missing"));
}

TEST_CASE("messages are the template's, turn by turn", "[environment]") {
  EnvironmentConfig config{
      .max_steps = 5,
      .max_tokens_per_step = 32,
      .agent_system_template = "Play.",
      .agent_template = "Turn {turn_idx}: {observation} ({actions_left}, {max_response_length}, {{}})"};
  const Json first = first_messages(config, {"Rules.", "a map"});
  const Json expected = {{{"role", "system"}, {"content", "Play."}},
                         {{"role", "user"}, {"content", "Rules.\nTurn 1: a map (5, 32, {})"}}};
  CHECK(first == expected);
  CHECK(turn_text(config, "another", 2) == "Turn 3: another (3, 32, {})");
  config.agent_template = "{observations}";
  CHECK_THROWS_AS(check_agent_template(config, "custom_envs.Lake."), UserError);
}

TEST_CASE("a turn with a context of its own is shown the last turns and the level as it is now", "[environment]") {
  EnvironmentConfig config{.env_manager_cls = "roll.pipeline.agentic.env_manager.step_env_manager.StepEnvManager",
                           .max_steps = 9,
                           .max_tokens_per_step = 32,
                           .history_length = 3,
                           .agent_system_template = "Play.",
                           .agent_template =
                               "{env_instruction} {step_count} {history_length} {current_step} {actions_left} "
                               "{max_response_length} [{history}] {current_observation}{{}}"};
  CHECK_NOTHROW(check_agent_template(config, ""));
  CHECK(first_messages(config, {"Rules.", "a map"})[1]["content"] == "Rules. 0 0 1 9 32 [] a map{}");
  std::vector<PastTurn> past = {{"first", "Up"}, {"second {x}", "Fly", false, -0.5}, {"third", "Down", true, 1}};
  const Json now = messages_of_turn(config, {"Rules.", "a map"}, past);
  CHECK(now[0]["content"] == "Play.");
  CHECK(
      now[1]["content"] ==
      "Rules. 3 2 4 6 32 [Turn 2 showed:\nsecond {x}\nYou answered: Fly (no valid action: keep to the output format)\n"
      "Reward: -0.5\nTurn 3 showed:\nthird\nYou answered: Down\nReward: 1] a map{}");
  config.env_manager_cls = "StepConcatEnvManager";
  config.agent_template = "{history}|{current_observation}";
  CHECK(messages_of_turn(config, {"", "a map"}, past)[1]["content"] == "second {x}\nthird|a map");
  config.history_length = 1;
  CHECK(messages_of_turn(config, {"", "a map"}, past)[1]["content"] == "|a map");
  config.env_manager_cls = "TrajEnvManager";
  CHECK_THROWS_WITH(check_agent_template(config, "custom_envs.Lake."),
                    Catch::Contains("{history} is not a known field"));
}

TEST_CASE("what a message was taken for is told, and a manager by its class", "[environment]") {
  const auto lake = made("frozen_lake", {.is_slippery = false});
  lake->reset(4);
  CHECK(lake->step("<answer>up</answer>").action == "Up");
  CHECK(lake->step("up").action.empty());
  const auto boxes = made("sokoban", {});
  boxes->reset(4);
  CHECK(boxes->step("<answer> left</answer>").action == "Left");
  const auto manager = [](const char* name) { return EnvironmentConfig{.env_manager_cls = name}.manager(); };
  CHECK(EnvironmentConfig().manager() == EnvManager::kTurns);
  CHECK(manager("a.b.StepEnvManager") == EnvManager::kSteps);
  CHECK(manager("a.b.StepConcatEnvManager") == EnvManager::kStepsConcat);
  CHECK_FALSE(manager("a.b.ProxyEnvManager"));
}

}  // namespace roll
