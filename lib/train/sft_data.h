// Loads and tokenises the rows of fine-tuning and distillation (sft.h). Preference pairs (dpo_data.h) and previews use
// some of the functions, too.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "data/sft_rows.h"
#include "settings/distill_config.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "train/loaded_rows.h"

namespace roll {

/// Loads the rows in the files of `data`; returns no rows if it names no file. The chat template is data.template_name,
/// else global_template, else the model folder's. progress: counts rows; may be null. Throws UserError if a file or
/// template cannot be read, a row is malformed, or all rows are longer than config.sequence_length.
LoadedRows<SftRow> load_sft_rows(const RowConfig& config, const DataArgs& data,
                                 const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                 Progress* progress = nullptr);

/// Does the same for distillation; with config.distill_on_prompt, tokens of prompts are trained on, too.
LoadedRows<SftRow> load_sft_rows(const DistillConfig& config, const DataArgs& data,
                                 const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                 Progress* progress = nullptr);

/// Returns functions that render and tokenise, for encode_sft_row() and encode_pair_row(). chat: returns the chat
/// template; called only for rows with messages. `tokenizer` must outlive the result.
SftEncoder sft_encoder(const std::function<const ChatTemplate&()>& chat, const Tokenizer& tokenizer);

/// Returns a thread-safe function that returns the chat template `name`. "native", the model folder's, is loaded at the
/// first call of the function, because rows of raw text need none; any other template is loaded now. enable_thinking:
/// variable of the template; nullopt: not set. Both throw UserError if the template cannot be loaded.
std::function<const ChatTemplate&()> load_chat_template_once(const std::filesystem::path& model_folder,
                                                             const std::string& name,
                                                             std::optional<bool> enable_thinking);

/// Returns the number of updates of a run: max_steps, else the whole updates of batch_size rows in num_train_epochs
/// passes over num_rows rows. Throws UserError if that is 0.
int64_t count_updates(const RowConfig& config, int64_t num_rows, int64_t batch_size);

}  // namespace roll
