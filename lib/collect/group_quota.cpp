#include "collect/group_quota.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace roll {

namespace {

/// Mean of the scores that are set; nullopt if none is.
std::optional<double> mean_score(GroupScores scores) {
  double sum = 0, count = 0;
  for (const auto& score : scores)
    if (score) {
      sum += *score;
      count += 1;
    }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

}  // namespace

bool is_useful(GroupScores scores, const QueryFilterConfig& filter) {
  if (filter.type == QueryFilter::kNone) return true;
  const std::optional<double> mean = mean_score(scores);
  if (!mean) return false;
  double size = 0, squares = 0;
  for (const auto& score : scores)
    if (score) {
      squares += (*score - *mean) * (*score - *mean);
      size += 1;
    }
  const QueryFilterArgs& args = filter.filter_args;
  if (filter.type == QueryFilter::kMean) return *mean > args.threshold_down && *mean < args.threshold_up;
  return size > 1 && std::sqrt(squares / (size - 1)) > args.std_threshold;
}

GroupQuota::GroupQuota(const std::map<std::string, int64_t>& owed, PromptStream& stream,
                       const std::map<std::string, QueryFilterConfig>& filters, int64_t num_additional)
    : stream_(stream), num_additional_(num_additional) {
  const auto num_rows = stream.num_rows();
  for (const auto& [name, count] : owed)
    if (count > 0)
      domains_.push_back({.name = name, .owed = count, .num_prompts = num_rows.at(name), .filter = &filters.at(name)});
}

std::vector<Prompt> GroupQuota::next() {
  std::map<std::string, int64_t> counts;
  for (const Domain& domain : domains_)
    if (const int64_t count = domain.missing(num_additional_); count > 0) counts[domain.name] = count;
  const auto rows = stream_.next(counts);
  std::vector<Prompt> prompts;
  for (int64_t i = 0; i < std::ssize(domains_); ++i) {
    Domain& domain = domains_[i];
    const bool awaits_scores = domain.filter->type != QueryFilter::kNone || stream_.wants_pass_rates();
    const int64_t count = counts.contains(domain.name) ? counts[domain.name] : 0, missing = domain.missing(0);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t number = std::ssize(domain.verdicts);
      prompts.push_back({.row = rows[prompts.size()],
                         .number = static_cast<uint64_t>(number * std::ssize(domains_) + i),
                         .awaits_scores = awaits_scores,
                         .is_ahead = k >= missing});
      domain_prompts_.push_back({.domain = i, .number = number});
      domain.verdicts.push_back(awaits_scores ? Verdict::kOpen : Verdict::kUseful);
      domain.mean_scores.emplace_back();
    }
    domain.count_known();
  }
  return prompts;
}

void GroupQuota::limit(double share) {
  for (Domain& domain : domains_)
    domain.allowed = static_cast<int64_t>(std::floor(std::min(share, 1.0) * static_cast<double>(domain.owed)));
}

bool GroupQuota::has_all_allowed() const {
  return std::ranges::all_of(domains_, [](const Domain& domain) { return domain.num_kept >= domain.allowed; });
}

/// Number of prompts to start, including `num_additional` ahead of need.
int64_t GroupQuota::Domain::missing(int64_t num_additional) const {
  const int64_t lacking = allowed - std::ranges::count(verdicts, Verdict::kUseful);
  if (lacking <= 0) return 0;
  const int64_t ahead = filter->type == QueryFilter::kNone || is_limited() ? 0 : num_additional;
  return lacking + ahead - std::ranges::count(verdicts, Verdict::kOpen);
}

void GroupQuota::add(int64_t index, GroupScores scores) {
  const auto [domain_index, number] = domain_prompts_.at(index);
  Domain& domain = domains_[domain_index];
  ROLL_CHECK(domain.verdicts[number] == Verdict::kOpen, "a group is scored once");
  domain.verdicts[number] = is_useful(scores, *domain.filter) ? Verdict::kUseful : Verdict::kUseless;
  domain.mean_scores[number] = mean_score(scores);
  domain.count_known();
}

/// Advances to the first prompt whose group is not known, and counts the groups on the way.
void GroupQuota::Domain::count_known() {
  int64_t useful = 0;
  for (int64_t i = 0; i < std::ssize(verdicts) && useful < owed; ++i)
    if (verdicts[i] == Verdict::kUseful && ++useful == owed) num_needed = i + 1;
  for (; !is_full() && num_known < std::ssize(verdicts) && verdicts[num_known] != Verdict::kOpen; ++num_known) {
    const bool is_kept = verdicts[num_known] == Verdict::kUseful;
    num_kept += is_kept ? 1 : 0;
    num_dropped_in_row = is_kept ? 0 : num_dropped_in_row + 1;
    throw_if_hopeless();
  }
}

void GroupQuota::Domain::throw_if_hopeless() const {
  if (num_dropped_in_row < std::max(num_prompts, owed)) return;
  throw user_error(
      "rewards.{}.query_filter_config: {} has dropped the last {} groups of domain {}, whose data has {} prompts; the "
      "step has {} of its {} groups. Loosen the filter, or use data that is neither too easy nor too hard",
      name, enum_name(filter->type), num_dropped_in_row, name, num_prompts, num_kept, owed);
}

bool GroupQuota::needs(int64_t index) const {
  const auto [domain, number] = domain_prompts_.at(index);
  return number < domains_[domain].num_needed;
}

bool GroupQuota::is_full() const {
  return std::ranges::all_of(domains_, &Domain::is_full);
}

std::map<std::string, GroupQuota::Counts> GroupQuota::counts() const {
  std::map<std::string, Counts> counts;
  for (const Domain& domain : domains_)
    counts[domain.name] = {.sampled = domain.num_known,
                           .dropped = domain.num_known - domain.num_kept,
                           .aborted = std::ssize(domain.verdicts) - domain.num_known};
  return counts;
}

std::map<std::string, std::vector<std::optional<double>>> GroupQuota::mean_scores() const {
  std::map<std::string, std::vector<std::optional<double>>> scores;
  for (const Domain& domain : domains_)
    scores[domain.name].assign(domain.mean_scores.begin(), domain.mean_scores.begin() + domain.num_known);
  return scores;
}

std::vector<RolloutRecord> GroupQuota::take(std::vector<RolloutRecord> records) {
  ROLL_CHECK(is_full(), "a step has all its groups");
  std::map<std::string, int64_t> unneeded;
  for (const auto& [name, count] : counts())
    if (count.aborted > 0) unneeded[name] = count.aborted;
  stream_.take_back(unneeded);
  std::vector<int64_t> first_group_index;  // group index of each domain
  int64_t num_groups = 0;
  for (const Domain& domain : domains_) first_group_index.push_back(num_groups), num_groups += domain.owed;
  std::vector<RolloutRecord> kept;
  for (RolloutRecord& record : records) {
    const auto [domain_index, number] = domain_prompts_.at(record.group_index);
    const auto& verdicts = domains_[domain_index].verdicts;
    if (number >= domains_[domain_index].num_known || verdicts[number] != Verdict::kUseful) continue;
    record.group_index =
        first_group_index[domain_index] + std::count(verdicts.begin(), verdicts.begin() + number, Verdict::kUseful);
    kept.push_back(std::move(record));
  }
  sort_records(kept);
  return kept;
}

}  // namespace roll
