#include <nlohmann/json.hpp>

#include "base/error.h"
#include "reward/reward.h"

namespace roll {

RewardResult judged(double score, Json detail) {
  return {.reward = score, .score = score, .detail = std::move(detail)};
}

RewardResult failed_reward(RewardFailure kind, const std::string& why) {
  return judged(0, Json{{"error", why}, {"failure", enum_name(kind)}});
}

RewardResult timed_out() {
  return failed_reward(RewardFailure::kTimeout, "timeout");
}

Json parts_json(const std::vector<RewardPart>& parts) {
  Json list = Json::array();
  for (const RewardPart& part : parts) list.push_back({json_float(part.weight), json_float(part.reward)});
  return list;
}

std::vector<RewardPart> reward_parts(const Json& detail, double reward) {
  const auto list = detail.find("parts");
  if (list == detail.end()) return {{.weight = 1, .reward = reward}};
  std::vector<RewardPart> parts;
  for (const Json& part : *list) {
    if (!list->is_array() || !part.is_array() || part.size() != 2 || !part[0].is_number() || !part[1].is_number())
      throw user_error("reward_detail.parts = {}: must be a list of [weight, reward]", to_line(*list));
    parts.push_back({part[0].get<double>(), part[1].get<double>()});
  }
  return parts;
}

std::optional<RewardFailure> reward_failure(const Json& detail) {
  const auto kind = detail.find("failure"), error = detail.find("error");
  if (kind != detail.end() && kind->is_string())
    for (const auto& [failure, name] : enum_names(RewardFailure()))
      if (*kind == name) return failure;
  if (error == detail.end()) return std::nullopt;
  return *error == "timeout" ? RewardFailure::kTimeout : RewardFailure::kUnjudged;
}

void RewardFaults::add(const Json& detail) {
  const auto kind = reward_failure(detail);
  if (!kind) return;
  ++counts[*kind];
  if (*kind == RewardFailure::kTimeout || errors() != 1) return;
  const Json error = detail.value("error", Json(enum_name(*kind)));
  first_error = error.is_string() ? error.get<std::string>() : to_line(error);
}

int64_t RewardFaults::count(RewardFailure kind) const {
  const auto found = counts.find(kind);
  return found == counts.end() ? 0 : found->second;
}

int64_t RewardFaults::total() const {
  int64_t total = 0;
  for (const auto& [kind, count] : counts) total += count;
  return total;
}

std::string RewardFaults::text() const {
  std::vector<std::string> parts, kinds;
  for (const auto& [kind, count] : counts) {
    if (kind == RewardFailure::kTimeout)
      parts.push_back(fmt::format("{} took longer than timeout_s", count));
    else
      kinds.push_back(fmt::format("{} {}", count, enum_name(kind)));
  }
  if (!kinds.empty())
    parts.push_back(fmt::format("{} failed ({}), the first: {}", errors(), fmt::join(kinds, ", "), first_error));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace roll
