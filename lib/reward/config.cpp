#include "reward/config.h"

#include <map>

#include "base/error.h"

namespace roll {

std::string reward_type_of_class(const std::string& worker_cls) {
  static const std::map<std::string, std::string> kBuiltIn = {{"MathRuleRewardWorker", "math_rule"},
                                                              {"ExactMatchRewardWorker", "exact_match"},
                                                              {"RegexRewardWorker", "regex"},
                                                              {"CommandRewardWorker", "command"}};
  const std::string last = worker_cls.substr(worker_cls.rfind('.') + 1);
  const auto found = kBuiltIn.find(last);
  if (found != kBuiltIn.end()) return found->second;
  if (last.find("Judge") != std::string::npos)
    throw user_error("needs a judge model, which this version does not have; use type: math_rule, or type: command");
  if (last.find("Sandbox") != std::string::npos)
    throw user_error("needs a code sandbox, which this version does not have; use type: command");
  throw user_error(
      "there is no built-in reward for {}; use MathRuleRewardWorker, or type: command with a program of "
      "your own",
      last.empty() ? "it" : last);
}

}  // namespace roll
