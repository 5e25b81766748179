// The flags that describe a reward where no configuration does: --type and the keys of rewards.<domain>.
#pragma once

#include <cstdint>
#include <optional>

#include "app/cli/field_flags.h"
#include "config/node.h"
#include "reward/config.h"

namespace roll {

struct FlaggedReward {
  RewardArgs reward;
  std::optional<int64_t> response_length;

  template <class V>
  void fields(V& v) {
    reward.fields(v);
    v("response_length", response_length, "tokens of the longest response, for the length penalty", token_range());
  }
};

/// Flags of all keys but those that only a file can hold. `given` must outlive the parsing; read_flags() reads it.
inline void add_reward_flags(CLI::App& sub, Node& given) {
  gather_field_flags<FlaggedReward>(sub, given,
                                    {"worker_cls", "tag_included", "query_filter_config", "command", "languages"});
}

}  // namespace roll
