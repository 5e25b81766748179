// Reads and encodes the prompts of `roll generate`: a file of JSON rows with text, messages or token ids.
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
  std::string template_name;           // name of a chat template, as for ChatTemplate::load()
  int64_t vocab_size = 0;              // number of token ids of the model
  int64_t max_tokens = 0;              // longest allowed prompt, so that one response token fits
  std::string remedy{};                // end of the error message about a longer prompt
  GeneratingArgs generating{};         // values of sampling keys that a row's "sampling" object does not name
};

/// An encoded row.
struct PromptLine {
  std::vector<int64_t> ids;                    // tokens of the prompt
  std::optional<SamplingSettings> generating;  // nullopt if the row has no "sampling"
  std::optional<uint64_t> seed;                // nullopt if the row's "sampling" has no seed
};

/// Reads and encodes all rows, in order. A row holds one of
///   {"prompt": text}       raw text, with the special tokens that the tokenizer adds
///   {"messages": [...]}    rendered by the chat template, with the generation prompt
///   {"ids": [...]}         token ids, used unchanged
/// A row may also hold "sampling": {"temperature": 0.7, "seed": 3, ...}, with keys of GeneratingArgs, "seed", and
/// "logit_bias": {"17": -2.5, ...}, which is added to the logits of these token ids and must be within -100 .. 100.
/// Throws UserError "file:line: ..." if a row has none or several of the three forms, or a wrong type. It also does if
/// a prompt is empty or too long, an id is outside the vocabulary, or a sampling key is unknown or out of range.
std::vector<PromptLine> read_prompt_lines(const RowSource& rows, const Tokenizer& tokenizer,
                                          const PromptLineRules& rules);

/// Returns true if the row names a prompt in one of the three forms (its content is not checked).
bool names_generated_prompt(const Json& row);

}  // namespace roll
