// Reads the prompts of `roll generate`: rows of text, messages or token ids.
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

/// Model and limits for which the rows are encoded.
struct PromptLineRules {
  std::filesystem::path model_folder;  // holds the chat template, read only if a row has messages
  std::string template_name;
  int64_t vocab_size = 0;       // token ids of the model
  int64_t max_tokens = 0;       // longest prompt that leaves room for one token
  std::string remedy{};         // text appended to the error for longer prompts
  GeneratingArgs generating{};  // defaults, which a row's "sampling" object overrides
};

struct PromptLine {
  std::vector<int64_t> ids;
  std::optional<SamplingSettings> generating;  // set if the row has "sampling"
  std::optional<uint64_t> seed;
};

/// Reads and encodes all rows, in order. A row holds one of
///   {"prompt": text}       raw text, with the special tokens that the tokenizer adds
///   {"messages": [...]}    rendered by the chat template, with the generation prompt
///   {"ids": [...]}         token ids, used unchanged
/// A row may hold "sampling": {"temperature": 0.7, "seed": 3, ...}: keys of GeneratingArgs for this row, and
/// "logit_bias": {"17": -2.5, ...}, added to the logits of these token ids, within -100 .. 100.
/// UserError "file:line": a row has none or several of the three, a wrong type, an empty prompt, an id outside the
/// vocabulary, a prompt that is too long, or a sampling key that is unknown or out of range.
std::vector<PromptLine> read_prompt_lines(const RowSource& rows, const Tokenizer& tokenizer,
                                          const PromptLineRules& rules);

/// Returns true if the row has a prompt in a form that read_prompt_lines() accepts.
bool names_generated_prompt(const Json& row);

}  // namespace roll
