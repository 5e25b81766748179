// The prompts of `roll generate`: rows of text, messages or token ids.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/row_source.h"
#include "rollout/settings.h"

namespace roll {

class Tokenizer;

struct PromptLineRules {
  std::filesystem::path model_folder;  // of the chat template, which is only opened for a line with messages
  std::string template_name;
  int64_t vocab_size = 0;       // of the model
  int64_t max_tokens = 0;       // of a prompt, so that at least one more fits
  std::string remedy{};         // where it has more
  GeneratingArgs generating{};  // what a line's "sampling" goes out from
};

struct PromptLine {
  std::vector<int64_t> ids;
  std::optional<SamplingSettings> generating;  // of a line with "sampling"
  std::optional<uint64_t> seed;
};

/// Every row, in order. A row is one of
///   {"prompt": text}       encoded as it is, with the tokens that the tokenizer adds to every text
///   {"messages": [...]}    through the chat template, which opens the assistant's turn
///   {"ids": [...]}         taken as they are
/// and may hold "sampling": {"temperature": 0.7, "seed": 3, ...}, keys of GeneratingArgs for this line alone, and
/// "logit_bias": {"17": -2.5, ...}, what is added to the logits of token ids, within -100 .. 100.
/// UserError "file:line": none or several of the three, a wrong type, an empty prompt, an id outside the vocabulary,
/// a prompt that is too long, a sampling key that is unknown or out of its range.
std::vector<PromptLine> read_prompt_lines(const RowSource& rows, const Tokenizer& tokenizer,
                                          const PromptLineRules& rules);

/// Whether the row has a prompt as read_prompt_lines() reads it.
bool names_generated_prompt(const Json& row);

}  // namespace roll
