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

/// A reward as the flags describe it.
struct FlaggedReward {
  RewardArgs reward;                       // keys of rewards.<domain>
  std::optional<int64_t> response_length;  // tokens of the longest response, for the length penalty

  void fields(Keys& v) {
    reward.fields(v);
    v("response_length", response_length, "tokens of the longest response, for the length penalty", token_range());
  }
};

/// Returns the flag's name for a key of FlaggedReward, without the leading "--": "reward" for `type`, else the key.
inline std::string reward_flag(const std::string& key) {
  return key == "type" ? "reward" : key;
}

/// Calls work(). If it throws a UserError whose message names the key as "--type", rethrows it with the flag's real
/// name: "--reward = x".
template <class Work>
void with_flag_names(const Work& work) {
  try {
    work();
  } catch (const UserError& error) {
    throw UserError(std::regex_replace(error.what(), std::regex("(^|\\n)--type(?![-\\w])"), "$1--reward"));
  }
}

/// Adds a flag for each key of FlaggedReward, except five keys that only a configuration file can hold. Parsing stores
/// the given values in `given`, which must outlive it; read_flags() (config/flag.h) then fills a FlaggedReward from it.
inline void add_reward_flags(CLI::App& sub, Node& given) {
  FlaggedReward defaults;
  gather_field_flags(sub, defaults, given,
                     {"worker_cls", "tag_included", "query_filter_config", "command", "languages"}, reward_flag);
}

}  // namespace roll
