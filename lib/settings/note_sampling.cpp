#include "settings/checks.h"

namespace roll {

void note_sampling(const Config& config, Checker& check) {
  const GeneratingArgs& args = config.actor_infer.generating_args;
  if (args.do_sample == false || (check.is_set(args.top_p) && check.is_set(args.top_k))) return;
  check.note(
      fmt::format("{}: temperature = {}, top_p = {}, top_k = {}; keys that are not set have ROLL's defaults. verl, "
                  "TRL, slime and OpenRLHF sample from all tokens: temperature = 1, top_p = 1, top_k = -1",
                  check.key(args), args.temperature, args.top_p, args.top_k));
}

}  // namespace roll
