// Loads and tokenises the rows of fine-tuning and distillation (sft.h).
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

/// Loads `data` with the tokenizer and the chat template of `model_folder`. UserError: see loaded_rows.h and
/// sft_rows.h.
LoadedRows<SftRow> load_sft_rows(const RowConfig& config, const DataArgs& data,
                                 const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                 Progress* progress = nullptr);

/// Loads `data` for distillation; with distill_on_prompt, prompts are trained on like answers.
LoadedRows<SftRow> load_sft_rows(const DistillConfig& config, const DataArgs& data,
                                 const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                 Progress* progress = nullptr);

/// Returns the encoder of rows. `chat` is called at the first row with messages; `tokenizer` must outlive the encoder.
SftEncoder sft_encoder(const std::function<const ChatTemplate&()>& chat, const Tokenizer& tokenizer);

/// Returns a function that loads the template of `data` at its first call, thread-safe; raw text needs no template.
std::function<const ChatTemplate&()> load_chat_template_once(const std::filesystem::path& model_folder,
                                                             const std::string& name,
                                                             std::optional<bool> enable_thinking);

/// Returns the number of updates of `batch_size` rows. UserError: there are fewer rows than one update needs.
int64_t count_updates(const RowConfig& config, int64_t num_rows, int64_t batch_size);

}  // namespace roll
