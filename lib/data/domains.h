// Assigns data rows to reward domains.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/rows.h"

namespace roll {

/// tag_included by domain (the names of `rewards`).
using DomainTags = std::map<std::string, std::vector<std::string>>;

/// Sets row.domain from the row's `domain` column, or else to the domain whose tag_included lists the row's tag. A
/// single domain without tag_included takes all remaining rows. UserError (file, line, tag): an unknown domain, a
/// missing tag, a tag in no domain, or a tag in two domains.
void assign_domains(std::span<Row> rows, const DomainTags& domains);

}  // namespace roll
