#include "data/prompt_stream.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/random.h"

namespace roll {

namespace {

/// Gives the sum, so that a split of many prompts does not feel the 1e-6 that is allowed.
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
    // The tiny term keeps 0.29 x 100 = 28.999999999999996 at 29.
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

PromptStream::PromptStream(RowStore rows, const std::map<std::string, double>& shares, uint64_t seed)
    : rows_(std::make_shared<const RowStore>(std::move(rows))), shares_(shares), seed_(seed) {
  if (rows_->size() == 0) throw UserError("data_args: there are no rows");
  for (const auto& [name, domain] : rows_->domains())
    domains_.emplace(name, Domain{.rows = &domain.rows, .fingerprint = fmt::format("{:016x}", domain.fingerprint)});
  std::vector<std::string> names;
  for (const auto& [name, domain] : domains_) {
    names.push_back(name);
    if (shares.empty())
      shares_[name] = static_cast<double>(domain.num_rows()) / static_cast<double>(rows_->size());
    else if (!shares.contains(name))
      throw user_error("{}: its domain {} has no share in domain_interleave_probs; add it (0 leaves the rows out)",
                       rows_->at(domain.rows->front()).origin, name);
  }
  for (const auto& [name, share] : shares_) {
    if (share > 0 && !domains_.contains(name))
      throw user_error("domain_interleave_probs.{} = {}: no row belongs to this domain{}", name, share,
                       did_you_mean(name, names));
  }
  check_shares(shares_);
  for (auto& [name, domain] : domains_) shuffle(name, domain);
}

void PromptStream::shuffle(const std::string& name, Domain& domain) const {
  domain.order = random_permutation(domain.num_rows(), {.seed = seed_,
                                                        .purpose = Purpose::kEpochShuffle,
                                                        .step = static_cast<uint32_t>(domain.epoch),
                                                        .sequence = fnv1a(name) & 0xFFFFFFFFFFFF});
}

std::map<std::string, int64_t> PromptStream::quota(int64_t count) const {
  const auto quota = split_by_share(shares_, count);
  for (const auto& [name, prompts] : quota)
    if (prompts == 0 && shares_.at(name) > 0)
      throw user_error(
          "domain {}: its share of {:.4g} gives it none of the {} prompts of a step; set domain_interleave_probs, or "
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
      if (domain.position == static_cast<int64_t>(domain.order.size())) {
        ++domain.epoch;
        domain.position = 0;
        shuffle(name, domain);
      }
      step.push_back(std::make_shared<const Row>(rows_->at((*domain.rows)[domain.order[domain.position++]])));
    }
  }
  return step;
}

void PromptStream::take_back(const std::map<std::string, int64_t>& counts) {
  for (const auto& [name, count] : counts) {
    Domain& domain = domains_.at(name);
    domain.position -= count;
    // As next() leaves it: at the end of an epoch rather than at the beginning of the one after it.
    const int64_t num_rows = domain.num_rows(), epoch = domain.epoch;
    for (; domain.epoch > 0 && domain.position <= 0; --domain.epoch) domain.position += num_rows;
    ROLL_CHECK(domain.position >= 0, "no more rows are taken back than were given");
    if (domain.epoch != epoch) shuffle(name, domain);
  }
}

Json PromptStream::state() const {
  Json domains = Json::object();
  for (const auto& [name, domain] : domains_) {
    domains[name] = {{"epoch", domain.epoch},
                     {"position", domain.position},
                     {"num_rows", domain.num_rows()},
                     {"fingerprint", domain.fingerprint}};
  }
  return {{"seed", seed_}, {"domains", domains}};
}

void PromptStream::load_state(const Json& state) {
  const auto refuse = [](const std::string& what) {
    throw user_error("the prompt stream of the checkpoint does not fit: {}; resume with the data and seed of that run",
                     what);
  };
  if (state.at("seed").get<uint64_t>() != seed_)
    refuse(fmt::format("seed {} then, {} now", to_line(state["seed"]), seed_));
  const Json& saved = state.at("domains");
  if (saved.size() != domains_.size()) refuse(fmt::format("{} domains then, {} now", saved.size(), domains_.size()));
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
    shuffle(name, domain);
  }
}

}  // namespace roll
