// Converts text to token ids and back, with the tokenizer of a model folder: Hugging Face's `tokenizer.json` (BPE,
// byte-level or SentencePiece-like with byte_fallback), plus special tokens and end tokens from the JSON files beside
// it.
//
// Goals: the same ids and decoded text as HF `tokenizers`, faster on one thread, and a UserError that names the place
// of unsupported content. Non-goals: training, offsets, truncation and padding (sequences are packed here, so these
// sections are ignored), WordPiece, Unigram.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Immutable after loading and thread-safe. Copies share the data.
class Tokenizer {
 public:
  /// Loads tokenizer.json (required) and, if present, tokenizer_config.json, special_tokens_map.json,
  /// generation_config.json and config.json. Throws UserError, which names file and component, if a file is missing,
  /// malformed or unsupported.
  static Tokenizer load(const std::filesystem::path& folder);

  /// Makes a tokenizer without end tokens from the text of a tokenizer.json. `origin` begins error messages.
  static Tokenizer parse(std::string_view tokenizer_json, const std::string& origin);

  /// Returns the token ids of `text`. If `parse_special`, text such as "<|im_end|>" becomes that special token, else
  /// ordinary tokens. If `add_special`, adds the post-processor's tokens (Llama's <|begin_of_text|>); pass false for
  /// rendered chat templates, which already contain them. Throws UserError for invalid UTF-8, with the byte offset.
  std::vector<int64_t> encode(std::string_view text, bool parse_special = true, bool add_special = true) const;

  /// Returns only the token ids of `text`, which continues a text with the ids `before`. Special tokens in `text` are
  /// parsed; the post-processor's are not added. The prefix space (SentencePiece's "▁") is added only if `before` is
  /// empty or ends in an added token, as in HF. If that token has rstrip, white space at the beginning of `text` is
  /// dropped. Throws UserError for invalid UTF-8.
  std::vector<int64_t> encode_behind(std::span<const int64_t> before, std::string_view text) const;

  /// Returns `text` with a space inserted after the first character of each special token's spelling, so that encode()
  /// finds none. Untrusted text then cannot end its message in a chat template.
  std::string disarmed(std::string text) const;

  /// Returns the text of `ids`; invalid UTF-8 becomes U+FFFD (one per maximal invalid part, as in HF). Unknown ids
  /// (padded vocabularies) add nothing. `skip_special` omits special tokens, except those that mark tool calls. If
  /// `more_follows`, more ids may follow, and text at the end that they could still change becomes U+FFFD.
  std::string decode(std::span<const int64_t> ids, bool skip_special = false, bool more_follows = false) const;

  /// Returns the bytes that a token adds to a text if other tokens come before it: " the" for "▁the", the byte E4 for
  /// "<0xE4>". Empty for unknown ids.
  std::string token_bytes(int64_t id) const;

  /// Returns the largest token id + 1; a model's embedding has at least this many rows.
  int64_t vocab_size() const;

  /// Returns the id of a token as spelled in tokenizer.json ("<|im_end|>", "Ġthe", "▁the"); nullopt if it is unknown.
  std::optional<int64_t> find_id(std::string_view token) const;

  /// Returns the spelling of a token in tokenizer.json; empty for unknown ids.
  std::string spelling(int64_t id) const;

  /// Returns the ids that end a generation, without duplicates: eos_token_id of generation_config.json (else of
  /// config.json), then the tokenizer's eos_token. Empty if no file names one.
  const std::vector<int64_t>& eos_ids() const;

 private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace roll
