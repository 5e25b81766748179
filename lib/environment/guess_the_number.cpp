#include "environment/guess_the_number.h"

#include <fmt/format.h>

#include <charconv>

#include "base/error.h"
#include "base/random.h"
#include "environment/action_text.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

namespace {

std::optional<int64_t> parse_guess(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class GuessTheNumber : public Environment {
 public:
  GuessTheNumber(const EnvironmentArgs& args, const std::string& where)
      : args_(args), action_text_(args.action_pattern, where) {
    if (args.min_number > args.max_number)
      throw user_error("{}min_number = {}: is larger than max_number = {}; lower it", where, args.min_number,
                       args.max_number);
  }

  Opening reset(uint64_t seed) override {
    const auto count = static_cast<double>(args_.max_number - args_.min_number + 1);
    secret_ = args_.min_number +
              static_cast<int64_t>(random_uniform({.seed = seed, .purpose = Purpose::kEnvironment}) * count);
    const std::string rules = fmt::format(
        "I have a number from {} to {} in mind. Guess it; I say whether it is higher or lower. Write your guess as "
        "<answer>{}</answer>.",
        args_.min_number, args_.max_number, args_.min_number);
    return {args_.env_instruction.value_or(rules), "Guess the number."};
  }

  Reaction step(const std::string& message) override {
    const auto action = action_text_.find(message);
    const auto guess = action ? parse_guess(*action) : std::nullopt;
    if (!guess)
      return {.observation = "That is no number.",
              .reward = args_.format_penalty.value_or(0),
              .is_valid = false,
              .succeeded = false};
    const bool is_right = *guess == secret_;
    return {.observation = is_right           ? "That is it."
                           : *guess < secret_ ? "It is higher."
                                              : "It is lower.",
            .reward = is_right ? 1.0 : 0.0,
            .is_done = is_right,
            .succeeded = is_right,
            .action = *action};
  }

 private:
  EnvironmentArgs args_;
  ActionText action_text_;
  int64_t secret_ = 0;
};

}  // namespace

std::unique_ptr<Environment> make_guess_the_number(const EnvironmentArgs& args, const std::string& where) {
  return std::make_unique<GuessTheNumber>(args, where);
}

}  // namespace roll
