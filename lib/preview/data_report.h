// A report about data rows before training: all faults in a list, where training would throw the first one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preview/data_view.h"
#include "preview/row_facts.h"
#include "train/prompts.h"

namespace roll {

/// Which rows to look at, and what to check.
struct DataQuestion {
  PromptSource source;                      // files, columns, template, domains, rules, prompt_length (0: no bound)
  std::optional<std::string> one_domain{};  // the domain of all rows, whatever they say
  const Tokenizer* tokenizer = nullptr;     // none: prompts are measured in characters
  int64_t response_length = 0;              // tokens; 0: no bound
  std::vector<DataArgs> validation{};       // sets of rows that must be others
  bool lists_all = false;                   // every faulty line, instead of the first few
  Log* log = nullptr;                       // where progress is shown
};

struct DataReport {
  int64_t num_lines = 0;               // that are not blank
  std::vector<std::string> bad;        // "file:line: column = value: rule; remedy" of lines that no training would take
  std::vector<std::string> layouts{};  // "file: read as MATH's: keys of data_args"
  RowFacts facts;                      // of the others, as the domains and views
  std::vector<DomainView> views;
  std::string first_prompt;  // as the model sees it
  std::vector<std::string> warnings;
};

/// UserError: files that are not there, a template that cannot be had.
DataReport look_at(const DataQuestion& question);

/// UserError: lines that no training would take.
void require_usable(const DataReport& report);

/// Some lines of text, each ending in a newline.
std::string to_text(const DataReport& report, const DataQuestion& question);

}  // namespace roll
