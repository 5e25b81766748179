// An environment plug-in: guess the digit, as environment.py. build_plugin.sh builds it.
#include <roll/environment.h>

class Digit : public roll::EnvironmentPlugin {
 public:
  explicit Digit(const roll::EnvironmentSettings& settings) : factor_(static_cast<int>(settings.number("factor", 7))) {}

  roll::EnvironmentOpening reset(uint64_t seed) override {
    secret_ = static_cast<int>(seed % 10 * factor_ % 10);
    return {.observation = "Which is it?", .instruction = "I have a digit in mind."};
  }

  roll::EnvironmentReaction step(const std::string& message, const std::vector<roll::EnvironmentCall>&) override {
    const size_t found = message.find_last_of("0123456789");
    if (found == std::string::npos) return {.observation = "No digit.", .valid = false, .success = false};
    const int guess = message[found] - '0';
    const bool right = guess == secret_;
    return {.observation = right             ? "Yes."
                           : guess < secret_ ? "More."
                                             : "Less.",
            .reward = right ? 1.0 : 0.0,
            .done = right,
            .success = right};
  }

 private:
  int factor_, secret_ = 0;
};

ROLL_ENVIRONMENT(digit, Digit)
