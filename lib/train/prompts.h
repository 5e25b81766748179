// Data rows made ready to sample from: domains, chat templates, token ids.
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
  std::filesystem::path model_folder;  // of the tokenizer and the native template
  DataArgs data;
  std::optional<std::string> global_template;
  std::map<std::string, std::string> tag_to_template;
  DomainTags domains;                  // empty: rows need no domain
  const DomainRules* rules = nullptr;  // rewards that must be able to judge the rows; none: nobody asks
  int64_t prompt_length = 0;           // longer rows are dropped
};

/// How a configuration reads a data set: the training's, or the validation's. `rules` must outlive it.
PromptSource source_of(const Config& config, const std::filesystem::path& model_folder, const DataArgs& data,
                       int64_t prompt_length, const DomainRules& rules);

/// Reads, checks and tokenises all rows, some at a time, and gives `take` those that are kept; says how many were
/// dropped. A row's template is that of its tag, else data.template, else global_template, else the folder's own.
/// UserError: see row_files.h, domains.h, reward_rows.h, chat_template.h.
void for_each_prompt(const PromptSource& source, const Tokenizer& tokenizer, const std::string& what, Log& log,
                     const std::function<void(Row)>& take);

/// Messages through a template, without special tokens added by the tokenizer (the template writes them); raw text
/// with.
class PromptEncoder {
 public:
  PromptEncoder(const PromptSource& source, const Tokenizer& tokenizer);
  /// From any thread.
  std::vector<int64_t> operator()(const Row& row) const;

 private:
  const PromptSource& source_;
  const Tokenizer& tokenizer_;
  std::map<std::string, ChatTemplate> templates_;  // by name
};

/// The configuration's training rows as an endless stream.
PromptStream open_training_prompts(const Config& config, const std::filesystem::path& model_folder,
                                   const Tokenizer& tokenizer, Log& log);
/// The rows of the validation, by the name "", and of its named sets; none of what there is not.
std::map<std::string, RowStore> load_validations(const Config& config, const std::filesystem::path& model_folder,
                                                 const Tokenizer& tokenizer, Log& log);

}  // namespace roll
