#include "reward/reward.h"

#include "base/error.h"
#include "reward/retrying.h"
#include "reward/shaped.h"
#include "reward/shared.h"
#include "reward/terms.h"

namespace roll {

namespace {

const RewardType& chosen_type(const RewardArgs& args, const std::string& where) {
  const std::string known = fmt::format("{}", fmt::join(Words<RewardType>::all(), ", "));
  if (!args.type && !args.worker_cls) throw user_error("{}type: missing; use one of {}", where, known);
  if (!args.type)
    throw user_error("{}worker_cls = {}: unknown reward; set type to one of {} instead", where, *args.worker_cls,
                     known);
  const auto class_type = args.worker_cls ? type_of_worker_class(*args.worker_cls) : std::nullopt;
  if (class_type && enum_name(*class_type) != enum_name(*args.type))
    throw user_error("{}worker_cls = {}: means type {}, but type is {}; keep one of the two", where, *args.worker_cls,
                     enum_name(*class_type), enum_name(*args.type));
  return *args.type;
}

void check_lengths(const RewardArgs& args, int64_t response_length, const std::string& where) {
  const char* const remedy = "needs the length limit of responses; set response_length";
  if (args.response_length_penalty_coef > 0 && response_length <= 0)
    throw user_error("{}response_length_penalty_coef = {}: {}", where, args.response_length_penalty_coef, remedy);
  const OverlongBuffer& buffer = args.overlong_buffer;
  if (!buffer.enable) return;
  if (response_length <= 0) throw user_error("{}overlong_buffer.enable = true: {}", where, remedy);
  if (!buffer.len)
    throw user_error("{}overlong_buffer.len: missing; give the number of tokens over which the penalty rises", where);
  if (*buffer.len > response_length)
    throw user_error("{}overlong_buffer.len = {}: must be at most response_length ({})", where, *buffer.len,
                     response_length);
}

std::unique_ptr<RewardFunction> make_domain_terms(const RewardArgs& args, const std::string& where,
                                                  const std::shared_ptr<SharedByWorkers>& shared) {
  for (const char* const key : {args.worker_cls ? "worker_cls" : nullptr, args.type ? "type" : nullptr})
    if (key)
      throw user_error("{}{}: cannot be combined with terms, since every term has a type; keep one of the two", where,
                       key);
  if (args.reward_type == RewardScale::kLoose || args.reward_type == RewardScale::kStrict)
    throw user_error("{}reward_type = {}: belongs to a term of type crossthinkqa; move it there", where,
                     enum_name(args.reward_type));
  return make_terms(args, where, shared);
}

void check_scale(const RewardType& type, RewardScale scale, const std::string& where) {
  const bool is_graded = scale == RewardScale::kLoose || scale == RewardScale::kStrict;
  if (is_graded && !reward_traits(type).grades_choices)
    throw user_error(
        "{}reward_type = {}: grades choices inside and outside of \\boxed, which only type crossthinkqa does, "
        "and the type here is {}; use soft, or hard",
        where, enum_name(scale), enum_name(type));
  if (scale == RewardScale::kHard && reward_traits(type).grades_choices)
    throw user_error("{}reward_type = hard: type {} has soft, loose and strict; loose is 1 or -1", where,
                     enum_name(type));
}

}  // namespace

std::vector<RewardResult> RewardFunction::score_all(const RewardQueries& queries) {
  std::vector<RewardResult> results;
  for (const RewardQuery* query : queries) results.push_back(score(*query));
  return results;
}

std::unique_ptr<RewardFunction> make_rule_with_retries(const RewardType& type, RewardScale scale,
                                                       const RewardArgs& args, const std::string& where,
                                                       std::shared_ptr<SharedByWorkers> shared) {
  check_scale(type, scale, where);
  const Patience usual = usual_patience(type);
  auto rule = make_rule(type, {args.timeout_s.value_or(usual.timeout_s), where, shared, scale});
  return with_retries(std::move(rule), {.max_retries = args.max_retries.value_or(usual.max_retries),
                                        .wait = [shared](double seconds) { return shared->ending.sleep(seconds); },
                                        .jitter = [shared] { return shared->jitter(); }});
}

std::unique_ptr<RewardFunction> make_reward(const RewardArgs& args, int64_t response_length, const std::string& where,
                                            std::shared_ptr<SharedByWorkers> shared) {
  check_lengths(args, response_length, where);
  if (args.format_reward && !args.format_pattern)
    throw user_error("{}format_reward = {}: needs format_pattern; set it to the format that earns the reward", where,
                     *args.format_reward);
  if (!shared) shared = std::make_shared<SharedByWorkers>();
  if (!args.terms.empty()) return shaped(make_domain_terms(args, where, shared), {}, args, response_length, where);
  const RewardType& type = chosen_type(args, where);
  return shaped(make_rule_with_retries(type, args.reward_type, args, where, shared), reward_traits(type), args,
                response_length, where);
}

}  // namespace roll
