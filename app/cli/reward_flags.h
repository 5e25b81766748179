// The flags that describe a reward where no configuration does: --reward, which is the key type, and the other keys
// of rewards.<domain>.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>

#include "app/cli/field_flags.h"
#include "base/error.h"
#include "config/keys.h"
#include "config/node.h"
#include "reward/config.h"

namespace roll {

struct FlaggedReward {
  RewardArgs reward;
  std::optional<int64_t> response_length;

  void fields(Keys& v) {
    reward.fields(v);
    v("response_length", response_length, "tokens of the longest response, for the length penalty", token_range());
  }
};

/// The flag of a key of FlaggedReward, without its dashes: `type` is --reward, as in all commands.
inline std::string reward_flag(const std::string& key) {
  return key == "type" ? "reward" : key;
}

/// Runs `work`, whose UserErrors name a key by the flag that sets it: "--reward = x" in place of "--type = x".
template <class Work>
void in_words_of_flags(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    throw UserError(std::regex_replace(error.what(), std::regex("(^|\\n)--type(?![-\\w])"), "$1--reward"));
  }
}

/// Flags of all keys but those that only a file can hold. `given` must outlive the parsing; read_flags() reads it.
inline void add_reward_flags(CLI::App& sub, Node& given) {
  FlaggedReward defaults;
  gather_field_flags(sub, defaults, given,
                     {"worker_cls", "tag_included", "query_filter_config", "command", "languages"}, reward_flag);
}

}  // namespace roll
