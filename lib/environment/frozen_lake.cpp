#include "environment/frozen_lake.h"

#include <array>
#include <utility>
#include <vector>

#include "base/random.h"
#include "environment/action_text.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

namespace {

enum Cell { kPlayer, kFrozen, kHole, kGoal, kInHole, kOnGoal };
enum Move { kLeft, kDown, kRight, kUp };

const Names kSymbols{{kPlayer, "P"}, {kFrozen, "_"}, {kHole, "O"}, {kGoal, "G"}, {kInHole, "X"}, {kOnGoal, "√"}};
const Names kMeanings{{kPlayer, "player"}, {kFrozen, "empty"},          {kHole, "hole"},
                      {kGoal, "goal"},     {kInHole, "player in hole"}, {kOnGoal, "player on goal"}};
const Names kActions{{kLeft, "Left"}, {kDown, "Down"}, {kRight, "Right"}, {kUp, "Up"}};
constexpr const char* kRules =
    "You are solving the FrozenLake puzzle. Forbid the whole and go to the target. You may move to the unintended "
    "direction due to the slippery ice. The answer must be one of action in a turn, format is <answer>Right</answer>";
constexpr uint32_t kMap = 0, kIce = 1;  // random-number keys (step): the map, and slips

class FrozenLake : public Environment {
 public:
  FrozenLake(const EnvironmentArgs& args, const std::string& where)
      : args_(args),
        symbols_(renamed(kSymbols, args.grid_lookup, where + "grid_lookup")),
        actions_(renamed(kActions, args.action_lookup, where + "action_lookup")),
        action_text_(args.action_pattern, where) {}

  Opening reset(uint64_t seed) override {
    seed_ = seed;
    num_moves_ = 0;
    for (uint64_t attempt = 0; !draw(attempt); ++attempt) {
    }
    return {grid_instruction(args_.env_instruction.value_or(kRules), vocabulary(symbols_, kMeanings, args_.grid_vocab),
                             actions_),
            text()};
  }

  Reaction step(const std::string& message) override {
    const auto action = action_text_.find(message, actions_);
    if (!action)
      return {.observation = text(), .reward = args_.format_penalty.value_or(0), .is_valid = false, .succeeded = false};
    player_ = neighbour(player_, actual_move(*action));
    const bool is_on_goal = cells_[player_] == kGoal;
    return {.observation = text(),
            .reward = is_on_goal ? 1.0 : 0.0,
            .is_done = is_on_goal || cells_[player_] == kHole,
            .succeeded = is_on_goal,
            .action = actions_.at(*action)};
  }

 private:
  double uniform(uint32_t key, uint64_t sequence, int64_t position) const {
    return random_uniform({.seed = seed_,
                           .purpose = Purpose::kEnvironment,
                           .step = key,
                           .sequence = sequence,
                           .position = static_cast<uint32_t>(position)});
  }

  /// Returns true if the goal of this lake can be reached.
  bool draw(uint64_t attempt) {
    const int64_t count = args_.size * args_.size;
    cells_.assign(count, kFrozen);
    for (int64_t i = 0; i < count; ++i)
      if (uniform(kMap, attempt, i) >= args_.p) cells_[i] = kHole;
    const auto random_cell = [&](int64_t position) {
      return static_cast<int64_t>(uniform(kMap, attempt, position) * static_cast<double>(count));
    };
    player_ = random_cell(count);
    const int64_t goal = random_cell(count + 1);
    if (player_ == goal) return false;
    cells_[player_] = kFrozen;
    cells_[goal] = kGoal;
    return is_reachable(goal);
  }

  bool is_reachable(int64_t goal) const {
    std::vector<int64_t> frontier{player_};
    std::vector<char> seen(cells_.size());
    while (!frontier.empty()) {
      const int64_t at = frontier.back();
      frontier.pop_back();
      if (at == goal) return true;
      if (std::exchange(seen[at], 1)) continue;
      for (const int64_t move : {kLeft, kDown, kRight, kUp})
        if (const int64_t next = neighbour(at, move); cells_[next] != kHole) frontier.push_back(next);
    }
    return false;
  }

  /// Returns the cell on that side, or the same one at the edge.
  int64_t neighbour(int64_t at, int64_t move) const {
    const int64_t row = at / args_.size, column = at % args_.size, last = args_.size - 1;
    if (move == kLeft) return column > 0 ? at - 1 : at;
    if (move == kRight) return column < last ? at + 1 : at;
    if (move == kUp) return row > 0 ? at - args_.size : at;
    return row < last ? at + args_.size : at;
  }

  int64_t actual_move(int64_t move) {
    const int64_t number = num_moves_++;
    if (!args_.is_slippery) return move;
    const int64_t aside = static_cast<int64_t>(uniform(kIce, 0, number) * 3) - 1;
    return (move + aside + 4) % 4;
  }

  std::string text() const {
    std::string grid;
    for (int64_t i = 0; i < std::ssize(cells_); ++i) {
      if (i > 0 && i % args_.size == 0) grid += "\n";
      const Cell with_player = cells_[i] == kHole ? kInHole : cells_[i] == kGoal ? kOnGoal : kPlayer;
      grid += symbols_.at(i == player_ ? with_player : cells_[i]);
    }
    return grid;
  }

  EnvironmentArgs args_;
  Names symbols_, actions_;
  ActionText action_text_;
  uint64_t seed_ = 0;
  int64_t player_ = 0, num_moves_ = 0;
  std::vector<Cell> cells_;
};

}  // namespace

std::unique_ptr<Environment> make_frozen_lake(const EnvironmentArgs& args, const std::string& where) {
  return std::make_unique<FrozenLake>(args, where);
}

}  // namespace roll
