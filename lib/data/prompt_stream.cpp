#include "data/prompt_stream.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/random.h"

namespace roll {

namespace {

/// Returns the sum, so that callers can normalize away the tolerance of 1e-6.
double check_shares(const std::map<std::string, double>& shares) {
  double sum = 0;
  for (const auto& [domain, share] : shares) {
    if (!(share >= 0)) throw user_error("domain_interleave_probs.{} = {}: a share is at least 0", domain, share);
    sum += share;
  }
  if (std::abs(sum - 1) > 1e-6)
    throw user_error("domain_interleave_probs: the shares sum to {}; they must sum to 1", sum);
  return sum;
}

}  // namespace

std::map<std::string, int64_t> split_by_share(const std::map<std::string, double>& shares, int64_t count) {
  const double sum = check_shares(shares);
  std::map<std::string, int64_t> split;
  std::vector<std::pair<double, std::string>> remainders;
  int64_t left = count;
  for (const auto& [domain, share] : shares) {
    // The epsilon keeps 0.29 x 100 = 28.999999999999996 at 29.
    const double exact = share / sum * static_cast<double>(count);
    split[domain] = static_cast<int64_t>(std::floor(exact + 1e-9));
    left -= split[domain];
    remainders.emplace_back(exact - static_cast<double>(split[domain]), domain);
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (int64_t i = 0; i < left; ++i) ++split[remainders[i].second];
  return split;
}

PromptStream::PromptStream(RowStore rows, const std::map<std::string, double>& shares, uint64_t seed,
                           const Curriculum& curriculum)
    : rows_(std::make_shared<const RowStore>(std::move(rows))), shares_(shares), curriculum_(curriculum), seed_(seed) {
  if (rows_->size() == 0) throw UserError("data_args: there are no rows");
  for (const auto& [name, domain_rows] : rows_->domains()) {
    Domain domain{.rows = &domain_rows, .fingerprint = fmt::format("{:016x}", domain_rows.fingerprint)};
    if (curriculum_.sampler == DataSampler::kDifficulty) check_difficulties(name, domain_rows);
    if (wants_pass_rates()) domain.pass_rates = PassRates(domain.num_rows());
    domains_.emplace(name, std::move(domain));
  }
  std::vector<std::string> names;
  for (const auto& [name, domain] : domains_) {
    names.push_back(name);
    if (shares.empty())
      shares_[name] = static_cast<double>(domain.num_rows()) / static_cast<double>(rows_->size());
    else if (!shares.contains(name))
      throw user_error("{}: its domain {} has no share in domain_interleave_probs; add a share (0 excludes the rows)",
                       rows_->at(domain.rows->rows.front()).origin, name);
  }
  for (const auto& [name, share] : shares_) {
    if (share > 0 && !domains_.contains(name))
      throw user_error("domain_interleave_probs.{} = {}: no row belongs to this domain{}", name, share,
                       did_you_mean(name, names));
  }
  check_shares(shares_);
  check_scheduled();
  for (auto& [name, domain] : domains_) shuffle(name, domain);
}

void PromptStream::check_difficulties(const std::string& name, const RowStore::Domain& rows) const {
  if (std::ranges::count(rows.difficulties, rows.difficulties.front()) < std::ssize(rows.difficulties)) return;
  if (rows.rows.size() == 1) return;
  throw user_error(
      "data_args.sampler = difficulty: all {} rows of domain {} have the difficulty {}; add a column difficulty with "
      "larger numbers for harder rows",
      rows.rows.size(), name, rows.difficulties.front());
}

void PromptStream::check_scheduled() const {
  for (const ScheduledShares& scheduled : curriculum_.schedule)
    for (const auto& [name, share] : scheduled.probs)
      if (share > 0 && !domains_.contains(name))
        throw user_error("domain_interleave_schedule: step {}: {} = {}: no row belongs to this domain", scheduled.step,
                         name, share);
}

void PromptStream::shuffle(const std::string& name, Domain& domain) const {
  domain.order = random_permutation(domain.num_rows(), {.seed = seed_,
                                                        .purpose = Purpose::kEpochShuffle,
                                                        .step = static_cast<uint32_t>(domain.epoch),
                                                        .sequence = fnv1a(name) & 0xFFFFFFFFFFFF});
  if (curriculum_.sampler != DataSampler::kDifficulty) return;
  const std::vector<double>& difficulties = domain.rows->difficulties;
  std::ranges::stable_sort(domain.order, [&](int64_t a, int64_t b) { return difficulties[a] < difficulties[b]; });
}

std::map<std::string, int64_t> PromptStream::quota(int64_t count, int64_t step) const {
  const auto& schedule = curriculum_.schedule;
  if (!schedule.empty()) return split_by_share(shares_at(shares_, schedule, step), count);
  const auto quota = split_by_share(shares_, count);
  for (const auto& [name, prompts] : quota)
    if (prompts == 0 && shares_.at(name) > 0)
      throw user_error(
          "domain {}: its share of {:.4g} gives none of the {} prompts of a step; set domain_interleave_probs, or "
          "raise rollout_batch_size",
          name, shares_.at(name), count);
  return quota;
}

std::map<std::string, int64_t> PromptStream::num_rows() const {
  std::map<std::string, int64_t> counts;
  for (const auto& [name, domain] : domains_) counts[name] = domain.num_rows();
  return counts;
}

std::vector<std::shared_ptr<const Row>> PromptStream::next(const std::map<std::string, int64_t>& counts) {
  std::vector<std::shared_ptr<const Row>> step;
  for (const auto& [name, count] : counts) {
    for (int64_t i = 0; i < count; ++i) {
      Domain& domain = domains_.at(name);
      DrawnRow drawn{domain.epoch, domain.position, 0};
      drawn.row = draw_row(name, domain);
      domain.drawn.push_back(drawn);
      step.push_back(std::make_shared<const Row>(rows_->at(domain.rows->rows[drawn.row])));
    }
  }
  return step;
}

/// Draws the next row of the domain that is not skipped.
int64_t PromptStream::draw_row(const std::string& name, Domain& domain) const {
  for (;;) {
    if (domain.position == std::ssize(domain.order)) {
      ++domain.epoch;
      domain.position = 0;
      shuffle(name, domain);
    }
    const int64_t row = domain.order[domain.position++];
    if (!skips_row(name, domain, row)) return row;
  }
}

bool PromptStream::skips_row(const std::string& name, const Domain& domain, int64_t row) const {
  if (!wants_pass_rates()) return false;
  return random_uniform({.seed = seed_,
                         .purpose = Purpose::kPassOver,
                         .step = static_cast<uint32_t>(domain.epoch),
                         .sequence = fnv1a(name) & 0xFFFFFFFFFFFF,
                         .position = static_cast<uint32_t>(row)}) >= domain.pass_rates.weight(row, curriculum_.floor);
}

void PromptStream::take_back(const std::map<std::string, int64_t>& counts) {
  for (const auto& [name, count] : counts) {
    Domain& domain = domains_.at(name);
    ROLL_CHECK(count <= std::ssize(domain.drawn), "no more rows are taken back than were given");
    if (count == 0) continue;
    const DrawnRow first_undone = domain.drawn[domain.drawn.size() - static_cast<size_t>(count)];
    domain.drawn.resize(domain.drawn.size() - static_cast<size_t>(count));
    const bool is_earlier_epoch = first_undone.epoch != domain.epoch;
    domain.epoch = first_undone.epoch;
    domain.position = first_undone.position;
    if (is_earlier_epoch) shuffle(name, domain);
  }
}

std::map<std::string, int64_t> PromptStream::settle(
    const std::map<std::string, std::vector<std::optional<double>>>& rates) {
  std::map<std::string, int64_t> num_skipped;
  for (const auto& [name, domain_rates] : rates) {
    Domain& domain = domains_.at(name);
    const std::vector<DrawnRow> drawn = std::exchange(domain.drawn, {});
    ROLL_CHECK_EQ(domain_rates.size(), drawn.size(), "each row that was given has had its turn");
    for (size_t i = 0; i < drawn.size(); ++i)
      if (wants_pass_rates() && domain_rates[i]) domain.pass_rates.set(drawn[i].row, *domain_rates[i]);
    if (drawn.empty()) continue;
    const int64_t num_visited =
        (domain.epoch - drawn[0].epoch) * domain.num_rows() + domain.position - drawn[0].position;
    num_skipped[name] = num_visited - std::ssize(drawn);
  }
  return num_skipped;
}

Json PromptStream::state() const {
  Json domains = Json::object();
  for (const auto& [name, domain] : domains_) {
    domains[name] = {{"epoch", domain.epoch},
                     {"position", domain.position},
                     {"num_rows", domain.num_rows()},
                     {"fingerprint", domain.fingerprint}};
    if (wants_pass_rates()) domains[name]["pass_rates"] = domain.pass_rates.text();
  }
  return {{"seed", seed_}, {"domains", domains}};
}

void PromptStream::load_state(const Json& state) {
  const auto refuse = [](const std::string& reason) {
    throw user_error("the prompt stream of the checkpoint does not fit: {}; resume with the data and seed of that run",
                     reason);
  };
  if (state.at("seed").get<uint64_t>() != seed_)
    refuse(fmt::format("the seed was {}, now it is {}", to_line(state["seed"]), seed_));
  const Json& saved = state.at("domains");
  if (saved.size() != domains_.size())
    refuse(fmt::format("there were {} domains, now there are {}", saved.size(), domains_.size()));
  for (auto& [name, domain] : domains_) {
    if (!saved.contains(name)) refuse(fmt::format("domain {} is new", name));
    const Json& cursor = saved[name];
    if (cursor.at("num_rows").get<int64_t>() != domain.num_rows())
      refuse(fmt::format("domain {} had {} rows, now {}", name, to_line(cursor["num_rows"]), domain.num_rows()));
    if (cursor.at("fingerprint").get<std::string>() != domain.fingerprint)
      refuse(fmt::format("rows of domain {} have changed", name));
    domain.epoch = cursor.at("epoch").get<int64_t>();
    domain.position = cursor.at("position").get<int64_t>();
    if (domain.epoch < 0 || domain.position < 0 || domain.position > domain.num_rows())
      refuse(fmt::format("domain {} has no position {}", name, domain.position));
    if (wants_pass_rates() && cursor.contains("pass_rates") &&
        !domain.pass_rates.load(cursor["pass_rates"].get<std::string>()))
      refuse(fmt::format("the pass rates of domain {} do not fit {} rows", name, domain.num_rows()));
    domain.drawn.clear();
    shuffle(name, domain);
  }
}

}  // namespace roll
