#include "environment/sokoban.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "environment/action_text.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

namespace {

const Names kRoomSymbols{{0, "#"}, {1, "_"}, {2, "O"}, {3, "√"}, {4, "X"}, {5, "P"}, {6, "S"}};
const Names kRoomMeanings{{0, "wall"}, {1, "empty"},  {2, "target"},          {3, "box on target"},
                          {4, "box"},  {5, "player"}, {6, "player on target"}};
const Names kPushes{{1, "Up"}, {2, "Down"}, {3, "Left"}, {4, "Right"}};
constexpr const char* kPushRules =
    "You are solving the Sokoban puzzle. You are the player and you need to push all boxes to targets. When you are "
    "right next to a box, you can push it by moving in the same direction. You cannot push a box through a wall, and "
    "you cannot pull a box. The answer must be one of action in a turn, format is <answer>Right</answer>.";
constexpr double kWallShare = 0.15;  // share of the inner cells
constexpr double kTurnReward = -0.1, kBoxOnReward = 1, kBoxOffReward = -1, kSolvedReward = 10;

class Sokoban : public Environment {
 public:
  Sokoban(const EnvironmentArgs& args, const std::string& where)
      : args_(args),
        symbols_(renamed(kRoomSymbols, args.grid_lookup, where + "grid_lookup")),
        actions_(renamed(kPushes, args.action_lookup, where + "action_lookup")),
        action_text_(args.action_pattern, where) {
    if (args.dim_room.size() != 2)
      throw user_error("{}dim_room: has {} numbers; must be [rows, columns]", where, args.dim_room.size());
    rows_ = args.dim_room[0];
    columns_ = args.dim_room[1];
    if ((rows_ - 2) * (columns_ - 2) < 3 * args.num_boxes + 3)
      throw user_error("{}num_boxes = {}: is too many for dim_room = [{}, {}]; lower it, or enlarge the room", where,
                       args.num_boxes, rows_, columns_);
  }

  Opening reset(uint64_t seed) override {
    seed_ = seed;
    for (uint64_t attempt = 0; !make_level(attempt); ++attempt) {
    }
    return {grid_instruction(args_.env_instruction.value_or(kPushRules),
                             vocabulary(symbols_, kRoomMeanings, args_.grid_vocab), actions_),
            text()};
  }

  Reaction step(const std::string& message) override {
    const auto action = action_text_.find(message, actions_);
    const int64_t before = num_on_target();
    if (action) move(cell_step(*action));
    const int64_t gained = num_on_target() - before;
    const bool is_solved = num_on_target() == args_.num_boxes;
    double reward = kTurnReward +
                    (gained > 0   ? kBoxOnReward
                     : gained < 0 ? kBoxOffReward
                                  : 0) +
                    (is_solved ? kSolvedReward : 0);
    if (!action) reward += args_.format_penalty.value_or(0);
    return {.observation = text(),
            .reward = reward,
            .is_done = is_solved,
            .is_valid = action.has_value(),
            .succeeded = is_solved,
            .action = action ? actions_.at(*action) : ""};
  }

 private:
  double uniform() {
    return random_uniform({.seed = seed_,
                           .purpose = Purpose::kEnvironment,
                           .sequence = attempt_,
                           .position = static_cast<uint32_t>(num_drawn_++)});
  }
  int64_t random_below(int64_t count) { return static_cast<int64_t>(uniform() * static_cast<double>(count)); }

  int64_t cell_step(int64_t action) const {
    return action == 1 ? -columns_ : action == 2 ? columns_ : action == 3 ? -1 : 1;
  }
  int64_t num_on_target() const {
    return std::ranges::count_if(boxes_, [&](int64_t box) { return is_target_[box]; });
  }
  bool is_box(int64_t at) const { return std::ranges::find(boxes_, at) != boxes_.end(); }
  bool is_free(int64_t at) const { return !is_wall_[at] && !is_box(at); }

  void move(int64_t step_cells) {
    const int64_t next = player_ + step_cells;
    if (is_box(next) && is_free(next + step_cells)) *std::ranges::find(boxes_, next) += step_cells;
    if (is_free(next)) player_ = next;
  }

  /// Places walls, then boxes on their targets; then the player pulls the boxes away. Returns false if any is still on
  /// a target, or there is too little floor.
  bool make_level(uint64_t attempt) {
    attempt_ = attempt;
    num_drawn_ = 0;
    is_wall_.assign(rows_ * columns_, 1);
    is_target_.assign(rows_ * columns_, 0);
    boxes_.clear();
    std::vector<int64_t> floor;
    for (int64_t row = 1; row + 1 < rows_; ++row)
      for (int64_t column = 1; column + 1 < columns_; ++column) {
        const int64_t at = row * columns_ + column;
        is_wall_[at] = uniform() < kWallShare;
        if (!is_wall_[at]) floor.push_back(at);
      }
    if (std::ssize(floor) < 2 * args_.num_boxes + 1) return false;
    const auto take = [&] {
      const int64_t i = random_below(std::ssize(floor)), at = floor[i];
      floor.erase(floor.begin() + i);
      return at;
    };
    for (int64_t i = 0; i < args_.num_boxes; ++i) {
      boxes_.push_back(take());
      is_target_[boxes_.back()] = 1;
    }
    player_ = take();
    for (int64_t i = 0; i < args_.search_depth; ++i) pull(cell_step(1 + random_below(4)));
    return num_on_target() == 0;
  }

  /// Moves the player back, with the box in front if there is one.
  void pull(int64_t step_cells) {
    const int64_t cell_behind = player_ - step_cells, cell_ahead = player_ + step_cells;
    if (!is_free(cell_behind)) return;
    if (is_box(cell_ahead)) *std::ranges::find(boxes_, cell_ahead) = player_;
    player_ = cell_behind;
  }

  std::string text() const {
    std::string room;
    for (int64_t at = 0; at < rows_ * columns_; ++at) {
      if (at > 0 && at % columns_ == 0) room += "\n";
      const bool target = is_target_[at] != 0;
      const int64_t empty = target ? 2 : 1;
      room += symbols_.at(is_wall_[at] ? 0 : at == player_ ? (target ? 6 : 5) : is_box(at) ? (target ? 3 : 4) : empty);
    }
    return room;
  }

  EnvironmentArgs args_;
  Names symbols_, actions_;
  ActionText action_text_;
  int64_t rows_ = 0, columns_ = 0, player_ = 0;
  uint64_t seed_ = 0, attempt_ = 0;
  int64_t num_drawn_ = 0;
  std::vector<char> is_wall_, is_target_;
  std::vector<int64_t> boxes_;
};

}  // namespace

std::unique_ptr<Environment> make_sokoban(const EnvironmentArgs& args, const std::string& where) {
  return std::make_unique<Sokoban>(args, where);
}

}  // namespace roll
