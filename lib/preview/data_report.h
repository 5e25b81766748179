// Inspects data rows before training, for `roll data check`. It lists all faults, whereas training stops at the first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preview/data_view.h"
#include "preview/row_facts.h"
#include "train/prompts.h"

namespace roll {

/// Rows to inspect, and how. Pointers must outlive the call.
struct DataInspection {
  PromptSource source;                      // rows, columns and rewards; its prompt_length 0: no limit
  std::optional<std::string> one_domain{};  // if set, all rows belong to this domain
  const Tokenizer* tokenizer = nullptr;     // null: lengths in characters
  int64_t response_length = 0;              // tokens; 0: no limit
  std::vector<DataArgs> validation{};       // validation sets; a prompt that is also in the rows gives a warning
  bool lists_all = false;                   // the texts list every faulty line, not only the first few
  Log* log = nullptr;                       // shows progress; null: no progress
};

/// Findings about data rows.
struct DataReport {
  int64_t num_lines = 0;               // rows of all files, usable or not
  std::vector<std::string> bad;        // "file:line: column = value: rule; remedy", one per unusable row
  std::vector<std::string> layouts{};  // "file: read as MATH's: keys of data_args", one per recognised layout
  RowFacts facts;                      // counts over all rows that can be read
  std::vector<DomainView> views;       // statistics of the usable rows, by domain
  std::string first_prompt;            // first prompt, rendered by the chat template if there is a tokenizer
  std::vector<std::string> warnings;   // each with a remedy
};

/// Inspects the rows. Throws UserError if a file or the chat template is missing; faulty rows are only reported.
DataReport inspect_data(const DataInspection& inspection);

/// Throws UserError if report.bad is not empty.
void require_usable(const DataReport& report);

/// Returns the report for a terminal, without its warnings. `inspection`: the one that inspect_data() got.
std::string to_text(const DataReport& report, const DataInspection& inspection);

}  // namespace roll
