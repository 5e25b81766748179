#include "text/tiny_tokenizer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "text/builtin_templates.h"
#include "text/byte_symbols.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

constexpr const char *kPad = "<|endoftext|>", *kStart = "<|im_start|>", *kEnd = "<|im_end|>";

/// Learns words: each new merge joins the first two tokens of a word split by the earlier merges. Later merges rank
/// lower, so a learned word stays one token.
class MergeList {
 public:
  MergeList() {
    for (int byte = 0; byte < 256; ++byte) tokens_.push_back(byte_symbol(static_cast<unsigned char>(byte)));
  }

  void learn(const std::string& word) {
    for (auto parts = split(word); parts.size() > 1; parts = split(word)) {
      ranks_.emplace(std::pair(parts[0], parts[1]), merges_.size());
      merges_.emplace_back(parts[0], parts[1]);
      const std::string joined = parts[0] + parts[1];
      if (std::ranges::find(tokens_, joined) == tokens_.end()) tokens_.push_back(joined);
    }
  }

  Json vocabulary() const {
    Json vocab = Json::object();
    for (size_t id = 0; id < tokens_.size(); ++id) vocab[tokens_[id]] = id;
    return vocab;
  }

  Json merges() const {
    Json list = Json::array();
    for (const auto& [left, right] : merges_) list.push_back({left, right});
    return list;
  }

  size_t size() const { return tokens_.size(); }

 private:
  std::vector<std::string> split(const std::string& word) const {
    std::vector<std::string> parts;
    for (const char byte : word) parts.push_back(byte_symbol(static_cast<unsigned char>(byte)));
    for (size_t best = best_pair(parts); best + 1 < parts.size(); best = best_pair(parts)) {
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    return parts;
  }

  /// Returns the index of the pair with the earliest merge, or parts.size().
  size_t best_pair(const std::vector<std::string>& parts) const {
    size_t best = parts.size(), best_rank = merges_.size();
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto rank = ranks_.find({parts[i], parts[i + 1]});
      if (rank != ranks_.end() && rank->second < best_rank) {
        best = i;
        best_rank = rank->second;
      }
    }
    return best;
  }

  std::vector<std::string> tokens_;
  std::vector<std::pair<std::string, std::string>> merges_;
  std::map<std::pair<std::string, std::string>, size_t> ranks_;
};

std::vector<std::string> special_tokens(const TinyTokenizerSpec& spec) {
  std::vector<std::string> out{kPad, kStart, kEnd};
  out.insert(out.end(), spec.more_special_tokens.begin(), spec.more_special_tokens.end());
  return out;
}

Json special_token(const std::string& content) {
  return {{"content", content}, {"single_word", false}, {"lstrip", false},
          {"rstrip", false},    {"normalized", false},  {"special", true}};
}

Json byte_level() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", false}, {"use_regex", false}};
}

Json pre_tokenizer(bool split_digits) {
  const std::string words = fmt::format(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      split_digits ? "" : "+");
  const Json split{{"type", "Split"}, {"pattern", {{"Regex", words}}}, {"behavior", "Isolated"}, {"invert", false}};
  return {{"type", "Sequence"}, {"pretokenizers", Json::array({split, byte_level()})}};
}

void check_words(const Json& tokenizer_json, const std::vector<std::string>& words) {
  const Tokenizer tokenizer = Tokenizer::parse(tokenizer_json.dump(), "tiny tokenizer");
  for (const std::string& word : words)
    if (tokenizer.encode(word, false, false).size() != 1)
      throw user_error(
          "tiny tokenizer: word '{}': must be a word that the pre-tokenizer does not split, such as ' plus' or '=='",
          word);
}

Json tokenizer_config(const Json& tokenizer) {
  Json added = Json::object();
  for (const Json& token : tokenizer["added_tokens"])
    added[std::to_string(token["id"].get<int64_t>())] = special_token(token["content"].get<std::string>());
  return {{"added_tokens_decoder", added},
          {"bos_token", nullptr},
          {"eos_token", kEnd},
          {"pad_token", kPad},
          {"unk_token", nullptr},
          {"clean_up_tokenization_spaces", false},
          {"model_max_length", 1 << 20},
          {"tokenizer_class", "PreTrainedTokenizerFast"},
          {"chat_template", std::string(builtin_template("chatml"))}};
}

}  // namespace

Json make_byte_level_tokenizer(const TinyTokenizerSpec& spec) {
  MergeList merges;
  for (const std::string& word : spec.words) merges.learn(word);
  Json added = Json::array();
  for (const std::string& content : special_tokens(spec)) {
    Json token{{"id", merges.size() + added.size()}};
    token.update(special_token(content));
    added.push_back(token);
  }
  const Json model{{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", false},
                   {"vocab", merges.vocabulary()},
                   {"merges", merges.merges()}};
  const Json tokenizer{{"version", "1.0"},
                       {"truncation", nullptr},
                       {"padding", nullptr},
                       {"added_tokens", added},
                       {"normalizer", {{"type", "NFC"}}},
                       {"pre_tokenizer", pre_tokenizer(spec.split_digits)},
                       {"post_processor", byte_level()},
                       {"decoder", byte_level()},
                       {"model", model}};
  check_words(tokenizer, spec.words);
  return tokenizer;
}

void write_tiny_tokenizer(const std::filesystem::path& folder, const TinyTokenizerSpec& spec) {
  const Json tokenizer = make_byte_level_tokenizer(spec);
  const auto id = [&](int index) { return tokenizer["added_tokens"][index]["id"]; };
  const Json generation{{"pad_token_id", id(0)}, {"eos_token_id", Json::array({id(2), id(0)})}};
  write_file_atomic(folder / "tokenizer.json", tokenizer.dump(2) + "\n");
  write_file_atomic(folder / "tokenizer_config.json", tokenizer_config(tokenizer).dump(2) + "\n");
  write_file_atomic(folder / "generation_config.json", generation.dump(2) + "\n");
}

}  // namespace roll
