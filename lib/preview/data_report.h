// Report on data rows before training. It lists all faults, where training stops at the first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preview/data_view.h"
#include "preview/row_facts.h"
#include "train/prompts.h"

namespace roll {

/// Rows to inspect, and the checks to make.
struct DataInspection {
  PromptSource source;                      // prompt_length 0: no limit
  std::optional<std::string> one_domain{};  // domain of all rows, overriding their own
  const Tokenizer* tokenizer = nullptr;     // null: lengths in characters
  int64_t response_length = 0;              // tokens; 0: no limit
  std::vector<DataArgs> validation{};       // validation sets; overlap with the rows is a warning
  bool lists_all = false;                   // lists every faulty line, not only the first few
  Log* log = nullptr;                       // shows progress; null: no progress
};

/// Findings about data rows.
struct DataReport {
  int64_t num_lines = 0;               // non-blank lines
  std::vector<std::string> bad;        // "file:line: column = value: rule; remedy", one per unusable line
  std::vector<std::string> layouts{};  // "file: read as MATH's: keys of data_args"
  RowFacts facts;                      // over all readable rows
  std::vector<DomainView> views;
  std::string first_prompt;  // first prompt, rendered by the chat template
  std::vector<std::string> warnings;
};

/// Inspects the rows. UserError: a file or the template is missing.
DataReport inspect_data(const DataInspection& inspection);

/// UserError: there are unusable lines.
void require_usable(const DataReport& report);

/// Formats the report as lines of text, each ending in a newline.
std::string to_text(const DataReport& report, const DataInspection& inspection);

}  // namespace roll
