#include "app/cli/speculation_flag.h"

#include "rollout/config.h"

namespace roll {

void add_speculation_flag(CLI::App& sub, std::shared_ptr<TokenGuesser>& guesser) {
  guesser = std::make_shared<TokenGuesser>();
  sub.add_option_function<std::string>(
         "--speculation",
         [&guesser](const std::string& value) {
           if (named<Speculation>(value) == Speculation::kNone) guesser.reset();
         },
         kSpeculationHelp)
      ->check(CLI::IsMember(Words<Speculation>::all()))
      ->default_str("auto");
}

}  // namespace roll
