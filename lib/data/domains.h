// Assigns each data row to a reward domain (an entry of the key `rewards`), after the rows are read.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/rows.h"

namespace roll {

/// The tags that each domain takes (rewards.DOMAIN.tag_included), by domain.
using DomainTags = std::map<std::string, std::vector<std::string>>;

/// Fills each empty row.domain (the row has no column `domain`) with the domain that lists row.tag; if there is only
/// one domain, and it lists no tags, with that domain. Throws UserError, with the row's file and line, if a row's
/// domain is not in `domains`, its tag is missing or in no domain; also if two domains list the same tag.
void assign_domains(std::span<Row> rows, const DomainTags& domains);

}  // namespace roll
