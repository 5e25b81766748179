#include "data/domains.h"

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

namespace {

std::map<std::string, std::string> domain_of_tag(const DomainTags& domains) {
  std::map<std::string, std::string> owner;
  for (const auto& [domain, tags] : domains) {
    for (const std::string& tag : tags) {
      const auto [found, is_new] = owner.emplace(tag, domain);
      if (!is_new && found->second != domain)
        throw user_error("rewards.{}.tag_included = {}: rewards.{} lists this tag too; a tag belongs to one domain",
                         domain, tag, found->second);
    }
  }
  return owner;
}

template <class Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> names;
  for (const auto& item : map) names.push_back(item.first);
  return names;
}

}  // namespace

void assign_domains(std::span<Row> rows, const DomainTags& domains) {
  const auto owner = domain_of_tag(domains);
  const bool one_takes_all = domains.size() == 1 && domains.begin()->second.empty();
  for (Row& row : rows) {
    if (!row.domain.empty()) {
      if (!domains.contains(row.domain))
        throw user_error("{}: domain = {}: no reward of this name; declare rewards.{}{}", row.origin, row.domain,
                         row.domain, did_you_mean(row.domain, keys(domains)));
    } else if (const auto found = owner.find(row.tag); found != owner.end()) {
      row.domain = found->second;
    } else if (one_takes_all) {
      row.domain = domains.begin()->first;
    } else if (row.tag.empty()) {
      throw user_error("{}: the row has neither a domain nor a tag; add one of the two columns", row.origin);
    } else {
      throw user_error("{}: tag = {}: in no tag_included of any reward; add it to the domain that scores such rows{}",
                       row.origin, row.tag, did_you_mean(row.tag, keys(owner)));
    }
  }
}

}  // namespace roll
