// The rows of a fine-tuning as it trains on them.
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

/// `data` through the tokenizer and the chat template of `model_folder`. UserError: see loaded_rows.h and sft_rows.h.
LoadedRows<SftRow> load_sft_rows(const SftConfig& config, const DataArgs& data,
                                 const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                 Progress* progress = nullptr);

/// As above; where the prompts are learnt as well, these count like answers.
LoadedRows<SftRow> load_sft_rows(const DistillConfig& config, const DataArgs& data,
                                 const std::filesystem::path& model_folder, const Tokenizer& tokenizer,
                                 Progress* progress = nullptr);

/// How rows become tokens; `chat`, which is asked for once a row has messages, and `tokenizer` must outlive it.
SftEncoder sft_encoder(const std::function<const ChatTemplate&()>& chat, const Tokenizer& tokenizer);

/// The template of `data`, loaded when it is first asked for, from any thread: raw text needs none.
std::function<const ChatTemplate&()> chat_of(const std::filesystem::path& model_folder, const std::string& name,
                                             std::optional<bool> enable_thinking);

/// Updates of `batch_size` rows. UserError: the rows are fewer than one needs.
int64_t count_updates(const SftConfig& config, int64_t num_rows, int64_t batch_size);

}  // namespace roll
