#include "app/cli/reward_flags.h"

#include "app/cli/field_flags.h"

namespace roll {

void add_reward_flags(CLI::App& sub, Node& given) {
  gather_field_flags<FlaggedReward>(sub, given,
                                    {"worker_cls", "tag_included", "query_filter_config", "command", "languages"});
}

}  // namespace roll
