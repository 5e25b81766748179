// Loads and tokenises the prompts of a run: reads data rows, assigns their domains, applies chat templates, and drops
// rows that are too long. Used when a run begins, and by previews of its data.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/domains.h"
#include "data/prompt_stream.h"
#include "data/rows.h"
#include "settings/config.h"
#include "settings/reward_rows.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

/// Files of prompts, and the way in which they become tokens.
struct PromptSource {
  std::filesystem::path model_folder;                  // has the chat template "native"
  DataArgs data;                                       // files, columns, template
  std::optional<std::string> global_template;          // name of the template, if data.template_name is unset
  std::map<std::string, std::string> tag_to_template;  // row's tag -> name of its template; goes before the others
  DomainTags domains;                                  // domain -> tags of its rows; empty: rows get no domain
  const DomainRules* rules = nullptr;                  // rewards that must be able to judge the rows; null: not checked
  int64_t prompt_length = 0;                           // most tokens of a prompt; longer rows are dropped
};

/// Returns the source of a configuration's training or validation rows, whose files are in `data`. `rules` must outlive
/// the result.
PromptSource make_prompt_source(const Config& config, const std::filesystem::path& model_folder, const DataArgs& data,
                                int64_t prompt_length, const DomainRules& rules);

/// Reads, checks and tokenises all rows, passes those that are not dropped to `take` in file order, and logs the
/// numbers of rows. A row's template is that of its tag, else data.template_name, else global_template, else the model
/// folder's. title: begins the lines in the log, e.g. "training prompts". Throws UserError if a file cannot be read, a
/// row is malformed, has no domain, cannot be judged by its reward or rendered by its template, or no row is left.
void for_each_prompt(const PromptSource& source, const Tokenizer& tokenizer, const std::string& title, Log& log,
                     const std::function<void(Row)>& take);

/// Tokenises the prompt of a row: messages through the row's chat template, which writes all special tokens itself; a
/// raw text (row.prompt) with the tokenizer's special tokens.
class PromptEncoder {
 public:
  /// Loads the templates. `source` and `tokenizer` must outlive the encoder. Throws UserError if a template is missing.
  PromptEncoder(const PromptSource& source, const Tokenizer& tokenizer);
  /// Returns the row's token ids. Thread-safe. Throws UserError if the row has messages but `source.data` names only a
  /// prompt column, or the template fails.
  std::vector<int64_t> operator()(const Row& row) const;

 private:
  const PromptSource& source_;
  const Tokenizer& tokenizer_;
  std::map<std::string, ChatTemplate> templates_;  // by template name
};

/// Returns the configuration's training prompts, rows or levels of environments, as an endless stream. Every rank loads
/// the whole stream. Throws like for_each_prompt() or make_training_levels().
PromptStream open_training_prompts(const Config& config, const std::filesystem::path& model_folder,
                                   const Tokenizer& tokenizer, Log& log);
/// Returns the prompts of each validation by name: "" for the configuration's validation, if it has one, and the named
/// sets (validation.sets). Throws like for_each_prompt() or make_validation_levels().
std::map<std::string, RowStore> load_validations(const Config& config, const std::filesystem::path& model_folder,
                                                 const Tokenizer& tokenizer, Log& log);

}  // namespace roll
