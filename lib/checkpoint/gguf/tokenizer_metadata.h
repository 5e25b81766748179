// Writes a Hugging Face tokenizer as metadata of a GGUF file: the inverse of tokenizer_json.h.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/gguf/gguf_writer.h"
#include "checkpoint/hf_folder.h"

namespace roll::gguf {

/// Adds the keys tokenizer.* to `metadata`: tokens, kinds, merges or scores, special ids and chat templates; nothing if
/// the companions lack tokenizer.json. `folder`: theirs, for messages. `num_rows`: rows of the embedding; ids without a
/// token get unused ones. Returns notes for users on what GGUF files cannot say. Throws UserError if the tokenizer is
/// neither byte-level BPE with a known rule for words nor SentencePiece, or has more tokens than rows.
std::vector<std::string> add_tokenizer(const Companions& companions, const std::string& folder,
                                       const std::string& architecture, int64_t num_rows, Metadata& metadata);

/// Throws UserError, which names `folder`, if `read` (a tokenizer.json that tokenizer_files() made) has other merges
/// than the companions' tokenizer.json. SentencePiece's merges follow from scores, which cannot say all lists.
void check_merges(const Companions& companions, const std::string& folder, const std::string& read);

}  // namespace roll::gguf
