// Which reward domain a row belongs to.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/rows.h"

namespace roll {

/// tag_included of each domain (the names of `rewards`).
using DomainTags = std::map<std::string, std::vector<std::string>>;

/// Sets row.domain: the row's own `domain` column, else the domain whose tag_included lists the row's tag. A single
/// domain without tag_included takes every row that has no domain of its own.
/// UserError names file, line and tag: an unknown domain, a tag that no domain lists (or the row has none), a tag that
/// two domains list.
void assign_domains(std::span<Row> rows, const DomainTags& domains);

}  // namespace roll
