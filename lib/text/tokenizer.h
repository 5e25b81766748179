// The model folder's own tokenizer: `tokenizer.json` of Hugging Face (BPE, byte-level or as SentencePiece's with
// byte_fallback), plus the special-token names and end tokens of the small JSON files beside it.
//
// Goals: the same ids and the same decoded text as HF `tokenizers`, faster than it on one thread, and a located
// UserError for whatever the file says that is not supported. Non-goals: training, offsets, truncation and padding
// (sequences are packed here, so those two sections of the file are not used), WordPiece, Unigram.
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

/// Immutable after loading; every method may be called from several threads at once. Copies share it.
class Tokenizer {
 public:
  /// Reads `folder`/tokenizer.json (needed) and, where present, tokenizer_config.json, special_tokens_map.json,
  /// generation_config.json and config.json. UserError names file, component and what is supported.
  static Tokenizer load(const std::filesystem::path& folder);

  /// A tokenizer of the text of a tokenizer.json alone: it knows no end tokens. `origin` opens error messages.
  static Tokenizer parse(std::string_view tokenizer_json, const std::string& origin);

  /// Token ids of `text` (UTF-8; anything else is a UserError that names the byte).
  /// parse_special: text such as "<|im_end|>" becomes that special token; false reads it as ordinary characters.
  /// add_special: the post-processor's tokens are added (Llama's <|begin_of_text|>). A rendered chat template already
  /// holds them, so pass false there.
  std::vector<int64_t> encode(std::string_view text, bool parse_special = true, bool add_special = true) const;

  /// Token ids of a text that goes on behind `before`: as encode() without the tokens around a text, but nothing is put
  /// before it (SentencePiece's "▁"), unless `before` ends in an added token, behind which HF puts it, too.
  std::vector<int64_t> encode_behind(std::span<const int64_t> before, std::string_view text) const;

  /// `text` with a space behind the first character of every special token that it spells: what somebody else wrote can
  /// then be put into a chat template without ending its turn.
  std::string disarmed(std::string text) const;

  /// Text of `ids`; bytes that are not UTF-8 become U+FFFD (one per maximal invalid part, as HF does). Ids without a
  /// token (a model's vocabulary is often padded) give nothing. skip_special leaves special tokens out, but for those
  /// that mark calls of tools, without which nobody could read these. goes_on: more ids may follow; text at the end
  /// that they can still change is then U+FFFD.
  std::string decode(std::span<const int64_t> ids, bool skip_special = false, bool goes_on = false) const;

  /// The bytes that a token adds to a text that it does not begin: of "▁the" " the", of "<0xE4>" the byte. Empty where
  /// no token has that id.
  std::string token_bytes(int64_t id) const;

  /// Largest token id + 1; a model's embedding has at least this many rows.
  int64_t vocab_size() const;

  /// Id of a token as the file spells it ("<|im_end|>", "Ġthe", "▁the"); empty when there is none.
  std::optional<int64_t> id_of(std::string_view token) const;

  /// How the file spells a token; empty where no token has that id.
  std::string spelling(int64_t id) const;

  /// Generation ends at any of these: eos_token_id of generation_config.json (else of config.json), then the
  /// tokenizer's own eos_token; each once. Empty when no file names one.
  const std::vector<int64_t>& eos_ids() const;

 private:
  struct Parts;
  explicit Tokenizer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace roll
