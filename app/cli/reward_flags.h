// Flags that describe a reward without a configuration file: --reward (the key `type`) and the other keys of
// rewards.<domain>. Used by `roll score` and `roll data`.
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

/// Returns the flag of a key of FlaggedReward, without dashes; `type` is called reward, as in all commands.
inline std::string reward_flag(const std::string& key) {
  return key == "type" ? "reward" : key;
}

/// Runs `work` and rewrites its UserErrors to name the flag: "--reward = x" instead of "--type = x".
template <class Work>
void with_flag_names(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    throw UserError(std::regex_replace(error.what(), std::regex("(^|\\n)--type(?![-\\w])"), "$1--reward"));
  }
}

/// Adds flags for all keys, except keys that only a file can hold. `given` must outlive the parsing; read_flags() reads
/// it.
inline void add_reward_flags(CLI::App& sub, Node& given) {
  FlaggedReward defaults;
  gather_field_flags(sub, defaults, given,
                     {"worker_cls", "tag_included", "query_filter_config", "command", "languages"}, reward_flag);
}

}  // namespace roll
