// Loads and tokenises the prompts of `roll train` and `roll evaluate`: reads data rows, assigns their domains, applies
// chat templates, and drops rows that are empty or too long. Used when a run begins, and by previews of its data.
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

/// Files of prompts and the settings for tokenising and checking them.
struct PromptSource {
  std::filesystem::path model_folder;                  // has the chat template "native"
  DataArgs data;                                       // files, columns, template
  std::optional<std::string> global_template;          // name of the template, if data.template_name is unset
  std::map<std::string, std::string> tag_to_template;  // row's tag -> name of its template; overrides the others
  DomainTags domains;                                  // domain -> tags of its rows; empty: rows get no domain
  const DomainRules* rules = nullptr;                  // rewards that must be able to judge the rows; null: not checked
  int64_t prompt_length = 0;                           // most tokens of a prompt; longer rows are dropped
};

/// Returns the source of a configuration's training or validation rows. data: the configuration's data_args of these
/// rows. prompt_length: most tokens of a prompt. `rules` must outlive the result.
PromptSource make_prompt_source(const Config& config, const std::filesystem::path& model_folder, const DataArgs& data,
                                int64_t prompt_length, const DomainRules& rules);

/// Reads, checks and tokenises all rows, passes those that are not dropped to `take` in file order, and logs the
/// numbers of rows and warnings about them. A row's template is that of its tag, else data.template_name, else
/// global_template, else the model folder's. title: begins the lines in the log, e.g. "training prompts". Throws
/// UserError if a file cannot be read or no row is left. Throws it also if a row is malformed, has no domain, or cannot
/// be judged by its reward or rendered by its template.
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

/// Returns the configuration's training prompts as an endless stream: rows of data, or levels of environments
/// (environment_rows.h). Each rank calls it and gets the same stream; no communication. Throws like for_each_prompt()
/// or make_training_levels().
PromptStream open_training_prompts(const Config& config, const std::filesystem::path& model_folder,
                                   const Tokenizer& tokenizer, Log& log);
/// Returns the prompts of each validation by name: "" for the validation's own rows or levels, if there are any, and
/// the named sets (validation.sets). Each rank calls it. Throws like for_each_prompt() or make_validation_levels().
std::map<std::string, RowStore> load_validations(const Config& config, const std::filesystem::path& model_folder,
                                                 const Tokenizer& tokenizer, Log& log);

}  // namespace roll
