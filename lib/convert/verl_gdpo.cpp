#include "convert/verl_gdpo.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "config/writer.h"
#include "convert/adapters.h"

namespace roll {

void set_verl_gdpo_terms(Conversion& c, const std::string& function) {
  constexpr const char *kKeys = "algorithm.gdpo_reward_keys", *kWeights = "algorithm.gdpo_reward_weights";
  const std::vector<std::string> keys = split_entries(c.text(kKeys)), weights = split_entries(c.text(kWeights));
  if (keys.empty()) throw c.refused(kKeys, "GDPO needs the names of the rewards, also in verl; give them");
  if (!weights.empty() && weights.size() != keys.size())
    throw c.refused(kWeights, fmt::format("must have one weight for each of {}", kKeys));
  if (function.empty() || c.is_true("reward_model.enable"))
    throw c.refused(kKeys, "GDPO's rewards must come from a Python function; give it as custom_reward_function.path");
  std::vector<std::string> terms;
  for (const std::string& key : keys)
    terms.push_back(fmt::format("type: python, python: {}, result_key: {}", quoted_yaml(function), quoted_yaml(key)));
  c.draft.remove("rewards.python.type");
  c.draft.remove("rewards.python.python");
  c.set("rewards.python.terms", weighted_terms(terms, weights), c.origin({kKeys, kWeights}));
  c.differs(
      "reward: the function is called once for each of GDPO's rewards; roll reports their weighted sum, verl the "
      "function's score");
}

}  // namespace roll
