// Prepares data rows for sampling: domains, chat templates, token ids.
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

struct PromptSource {
  std::filesystem::path model_folder;  // has the tokenizer and the native template
  DataArgs data;
  std::optional<std::string> global_template;
  std::map<std::string, std::string> tag_to_template;
  DomainTags domains;                  // empty: rows need no domain
  const DomainRules* rules = nullptr;  // rewards that must be able to judge the rows; null: not checked
  int64_t prompt_length = 0;           // tokens; longer rows are dropped
};

/// Returns the source of a configuration's training or validation rows. `rules` must outlive it.
PromptSource make_prompt_source(const Config& config, const std::filesystem::path& model_folder, const DataArgs& data,
                                int64_t prompt_length, const DomainRules& rules);

/// Reads, checks and tokenises all rows in batches, passes kept rows to `take`, and logs the number of dropped ones. A
/// row's template is its tag's, else data.template, else global_template, else the model folder's. UserError: see
/// row_files.h, domains.h, reward_rows.h, chat_template.h.
void for_each_prompt(const PromptSource& source, const Tokenizer& tokenizer, const std::string& title, Log& log,
                     const std::function<void(Row)>& take);

/// Encodes messages through a template, which writes all special tokens itself; raw text gets the tokenizer's special
/// tokens.
class PromptEncoder {
 public:
  PromptEncoder(const PromptSource& source, const Tokenizer& tokenizer);
  /// Returns the row's token ids. Thread-safe.
  std::vector<int64_t> operator()(const Row& row) const;

 private:
  const PromptSource& source_;
  const Tokenizer& tokenizer_;
  std::map<std::string, ChatTemplate> templates_;  // by template name
};

/// Returns the configuration's training rows as an endless stream.
PromptStream open_training_prompts(const Config& config, const std::filesystem::path& model_folder,
                                   const Tokenizer& tokenizer, Log& log);
/// Loads the validation rows under the name "", and each named set; missing ones are left out.
std::map<std::string, RowStore> load_validations(const Config& config, const std::filesystem::path& model_folder,
                                                 const Tokenizer& tokenizer, Log& log);

}  // namespace roll
