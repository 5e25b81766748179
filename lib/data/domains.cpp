#include "data/domains.h"

#include "base/error.h"
#include "base/nearest.h"

namespace roll {

namespace {

std::map<std::string, std::string> map_tags_to_domains(const DomainTags& domains) {
  std::map<std::string, std::string> domain_by_tag;
  for (const auto& [domain, tags] : domains) {
    for (const std::string& tag : tags) {
      const auto [found, is_new] = domain_by_tag.emplace(tag, domain);
      if (!is_new && found->second != domain)
        throw user_error("rewards.{}.tag_included = {}: rewards.{} lists this tag too; a tag belongs to one domain",
                         domain, tag, found->second);
    }
  }
  return domain_by_tag;
}

template <class Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> names;
  for (const auto& item : map) names.push_back(item.first);
  return names;
}

}  // namespace

void assign_domains(std::span<Row> rows, const DomainTags& domains) {
  const auto domain_by_tag = map_tags_to_domains(domains);
  const bool takes_all_rows = domains.size() == 1 && domains.begin()->second.empty();
  for (Row& row : rows) {
    if (!row.domain.empty()) {
      if (!domains.contains(row.domain))
        throw user_error("{}: domain = {}: no reward has this name; declare rewards.{}{}", row.origin, row.domain,
                         row.domain, did_you_mean(row.domain, keys(domains)));
    } else if (const auto found = domain_by_tag.find(row.tag); found != domain_by_tag.end()) {
      row.domain = found->second;
    } else if (takes_all_rows) {
      row.domain = domains.begin()->first;
    } else if (row.tag.empty()) {
      throw user_error("{}: the row has neither a domain nor a tag; add one of the two columns", row.origin);
    } else {
      throw user_error("{}: tag = {}: no tag_included lists this tag; add it to the reward that scores such rows{}",
                       row.origin, row.tag, did_you_mean(row.tag, keys(domain_by_tag)));
    }
  }
}

}  // namespace roll
