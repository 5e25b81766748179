// The rows of a fine-tuning as it trains on them.
#pragma once

#include <filesystem>
#include <vector>

#include "data/leaks.h"
#include "data/sft_rows.h"
#include "settings/sft_config.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

struct SftRows {
  std::vector<SftRow> rows;
  int64_t num_dropped = 0;  // longer than sequence_length
  std::string warning;      // warning_of_roles()
  KeyedRows keyed;
};

/// `data` through the tokenizer and the chat template of `model_folder`; nothing where no file is named. UserError: see
/// sft_rows.h.
SftRows load_sft_rows(const SftConfig& config, const DataArgs& data, const std::filesystem::path& model_folder,
                      const Tokenizer& tokenizer);

/// How rows become tokens; `chat` and `tokenizer` must outlive it.
SftEncoder sft_encoder(const ChatTemplate& chat, const Tokenizer& tokenizer);

/// Updates of `batch_size` rows. UserError: the rows are fewer than one needs.
int64_t count_updates(const SftConfig& config, int64_t num_rows, int64_t batch_size);

}  // namespace roll
