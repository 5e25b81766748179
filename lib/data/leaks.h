// What a run would take without a word and nobody wants: rows that show the answer, roles that no template knows,
// validation rows that are trained on.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "data/rows.h"

namespace roll {

/// Origins that a warning lists; further ones are counted.
constexpr size_t kShownOrigins = 5;

/// "a.jsonl:3, a.jsonl:9 and 4 more".
std::string list_origins(const std::vector<std::string>& origins, size_t most = kShownOrigins);

/// A message role that the models' templates do not know: they write it into the prompt as it is. "" where there is
/// none; the warning names lines.
std::string warning_of_roles(std::span<const Row> rows, size_t most = kShownOrigins);

/// Rows to sample from whose last message is the assistant's: those where it holds the ground truth show the answer,
/// the others begin behind a finished turn. Where it is not known that the rows are sampled from (`are_sampled`), those
/// without a ground truth may be for fine-tuning, and are left out. "" where there are none.
std::string warning_of_answers(std::span<const Row> rows, size_t most = kShownOrigins, bool are_sampled = true);

/// What a prompt says, whatever column it is in: equal for rows that ask the same.
std::string prompt_key(const Row& row);

/// prompt_key() and origin of rows.
using KeyedRows = std::vector<std::pair<std::string, std::string>>;
KeyedRows keyed_rows(std::span<const Row> rows);

/// Validation rows that ask what a training row asks. "" where there are none.
std::string warning_of_shared(const KeyedRows& training, const KeyedRows& validation, size_t most = kShownOrigins);

/// warning_of_answers() and warning_of_roles(), where there are some.
std::vector<std::string> warnings_of_prompts(std::span<const Row> rows, size_t most = kShownOrigins,
                                             bool are_sampled = true);

}  // namespace roll
