#include "checkpoint/gguf/tokenizer_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "base/json_object.h"
#include "checkpoint/gguf/pre_tokenizers.h"
#include "checkpoint/gguf/tensor_names.h"
#include "checkpoint/gguf/vocabulary.h"

namespace roll::gguf {

namespace {

bool is_added(const StoredToken& token) {
  return token.kind == TokenKind::kControl || token.kind == TokenKind::kUserDefined;
}

/// Special tokens by their ids in the file; nullopt: there is none.
struct NamedIds {
  std::optional<int64_t> bos, eos, unknown, padding, end_of_turn, end_of_message;
};

class TokenizerMaker {
 public:
  TokenizerMaker(const File& file, bool is_byte_level)
      : file_(file), is_byte_level_(is_byte_level), tokens_(read_tokens(file)) {
    if (tokens_.empty()) file.fail(kIds + "tokens", "a list of strings is needed");
    const auto id = [&](const char* name) { return token_id(file, kIds + name, tokens_.size()); };
    ids_ = {.bos = id("bos_token_id"),
            .eos = id("eos_token_id"),
            .unknown = id("unknown_token_id"),
            .padding = id("padding_token_id"),
            .end_of_turn = id("eot_token_id"),
            .end_of_message = id("eom_token_id")};
    adds_bos_ = !is_byte_level;
  }

  Json tokenizer() {
    Json json = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
    is_byte_level_ ? add_byte_level(json) : add_sentencepiece(json);
    json["added_tokens"] = added_tokens();
    json["post_processor"] = post_processor();
    return json;
  }

  Json tokenizer_config() const {
    Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                   {"add_bos_token", adds_bos()},
                   {"add_eos_token", adds_eos()},
                   {"clean_up_tokenization_spaces", false}};
    for (const auto& [name, id] : {std::pair("bos_token", ids_.bos), std::pair("eos_token", ids_.eos),
                                   std::pair("unk_token", ids_.unknown), std::pair("pad_token", ids_.padding)})
      if (id) config[name] = tokens_[static_cast<size_t>(*id)].text;
    return config;
  }

  Json generation_config(const std::string& chat_template) const {
    Json config = Json::object();
    if (ids_.bos) config["bos_token_id"] = *ids_.bos;
    if (ids_.padding) config["pad_token_id"] = *ids_.padding;
    const std::vector<int64_t> ends = end_ids(chat_template);
    if (!ends.empty()) config["eos_token_id"] = ends;
    return config;
  }

 private:
  bool adds_bos() const { return file_.flag(kIds + "add_bos_token").value_or(adds_bos_) && ids_.bos; }
  bool adds_eos() const { return file_.flag(kIds + "add_eos_token").value_or(false) && ids_.eos; }

  void add_byte_level(Json& json) {
    const std::vector<std::string_view>* merges = file_.texts(kIds + "merges");
    if (!merges) file_.fail(kIds + "merges", "a list of strings is needed");
    PreTokenizerRule rule = pre_tokenizer_rule(file_);
    adds_bos_ = rule.adds_bos;
    json["normalizer"] = rule.is_normalized ? Json{{"type", "NFC"}} : Json();
    json["pre_tokenizer"] = std::move(rule.pre_tokenizer);
    json["decoder"] = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
    Json list = Json::array();
    for (const std::string_view merge : *merges) list.push_back(std::string(merge));
    json["model"] = {{"type", "BPE"},         {"dropout", nullptr},       {"unk_token", nullptr},
                     {"fuse_unk", false},     {"byte_fallback", false},   {"ignore_merges", rule.ignores_merges},
                     {"vocab", vocabulary()}, {"merges", std::move(list)}};
  }

  /// Adds what transformers writes for Llama's and Gemma's tokenizers.
  void add_sentencepiece(Json& json) {
    for (const char* key : {"precompiled_charsmap", "remove_extra_whitespaces"})
      if (const auto values = file_.numbers(kIds + key);
          values && std::ranges::any_of(*values, [](double value) { return value != 0; }))
        file_.fail(kIds + key, "rewrites texts in a way that is not read here; give the model as safetensors");
    restore_spaces();
    const bool has_prefix = file_.flag(kIds + "add_space_prefix").value_or(true);
    const Json to_signs = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}};
    Json normalizers = Json::array(), decoders = Json::array();
    if (has_prefix) normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
    normalizers.push_back(to_signs);
    decoders.push_back({{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}});
    decoders.push_back({{"type", "ByteFallback"}});
    decoders.push_back({{"type", "Fuse"}});
    if (has_prefix) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    json["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers}};
    json["pre_tokenizer"] = nullptr;
    json["decoder"] = {{"type", "Sequence"}, {"decoders", decoders}};
    Json list = Json::array();
    for (auto& [left, right] : merges_by_score(tokens_)) list.push_back({std::move(left), std::move(right)});
    const bool has_bytes = std::ranges::find(tokens_, TokenKind::kByte, &StoredToken::kind) != tokens_.end();
    json["model"] = {{"type", "BPE"},
                     {"dropout", nullptr},
                     {"unk_token", ids_.unknown ? Json(tokens_[static_cast<size_t>(*ids_.unknown)].text) : Json()},
                     {"fuse_unk", true},
                     {"byte_fallback", has_bytes},
                     {"ignore_merges", false},
                     {"vocab", vocabulary()},
                     {"merges", std::move(list)}};
  }

  /// ggml writes Gemma's tokens of several spaces with spaces; they are made of merges, as other tokens.
  void restore_spaces() {
    std::unordered_set<std::string> texts;
    for (const StoredToken& token : tokens_) texts.insert(token.text);
    for (StoredToken& token : tokens_) {
      if (token.kind != TokenKind::kUserDefined || token.text.find_first_not_of(' ') != std::string::npos) continue;
      std::string signs;
      for (size_t i = 0; i < token.text.size(); ++i) signs += kSpace;
      if (texts.contains(signs)) continue;
      token = {.text = std::move(signs), .kind = TokenKind::kNormal, .score = kBestScore};
    }
  }

  /// Returns the tokens but for added ones at the end, whose ids follow from their order. Of SentencePiece's tokens,
  /// merges make those that users define, too.
  Json vocabulary() const {
    size_t count = tokens_.size();
    const auto stands_apart = [&](const StoredToken& token) {
      return token.kind == TokenKind::kControl || (is_byte_level_ && token.kind == TokenKind::kUserDefined);
    };
    while (count > 0 && stands_apart(tokens_[count - 1])) --count;
    Json vocabulary = Json::object();
    for (size_t i = 0; i < count; ++i) add_new(vocabulary, tokens_[i].text, i);
    return vocabulary;
  }

  Json added_tokens() const {
    Json added = Json::array();
    // Phi-3's own files strip the spaces behind these tokens, which GGUF files do not say.
    const bool strips = !is_byte_level_ && read_architecture(file_) == "phi3";
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const StoredToken& token = tokens_[i];
      if (!is_added(token) && static_cast<int64_t>(i) != ids_.unknown.value_or(-1)) continue;
      const bool keeps = token.text == "<s>" || token.text == "<unk>" || token.text == "<|endoftext|>";
      added.push_back({{"id", i},
                       {"content", token.text},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", strips && is_added(token) && !keeps},
                       {"normalized", false},
                       {"special", token.kind != TokenKind::kUserDefined}});
    }
    return added;
  }

  Json post_processor() const {
    Json template_json = {{"type", "TemplateProcessing"},
                          {"single", Json::array()},
                          {"pair", Json::array()},
                          {"special_tokens", Json::object()}};
    const auto token = [&](int64_t id, int64_t part) {
      const std::string& text = tokens_[static_cast<size_t>(id)].text;
      template_json["special_tokens"][text] = {{"id", text}, {"ids", {id}}, {"tokens", {text}}};
      return Json{{"SpecialToken", {{"id", text}, {"type_id", part}}}};
    };
    for (const auto& [list, parts] : {std::pair("single", 1), std::pair("pair", 2)})
      for (int part = 0; part < parts; ++part) {
        if (adds_bos()) template_json[list].push_back(token(*ids_.bos, part));
        template_json[list].push_back({{"Sequence", {{"id", part == 0 ? "A" : "B"}, {"type_id", part}}}});
        if (adds_eos()) template_json[list].push_back(token(*ids_.eos, part));
      }
    return template_json;
  }

  /// The file's end tokens, and special tokens that are known to end a turn and that its chat template writes.
  std::vector<int64_t> end_ids(const std::string& chat_template) const {
    constexpr std::array kEnds = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|eom_id|>"};
    std::vector<int64_t> ends;
    const auto add = [&](const std::optional<int64_t>& id) {
      if (id && std::ranges::find(ends, *id) == ends.end()) ends.push_back(*id);
    };
    add(ids_.eos);
    add(ids_.end_of_turn);
    add(ids_.end_of_message);
    for (size_t i = 0; i < tokens_.size(); ++i)
      if (is_added(tokens_[i]) && std::ranges::find(kEnds, tokens_[i].text) != kEnds.end() &&
          chat_template.find(tokens_[i].text) != std::string::npos)
        add(static_cast<int64_t>(i));
    return ends;
  }

  const File& file_;
  bool is_byte_level_, adds_bos_ = false;
  std::vector<StoredToken> tokens_;
  NamedIds ids_;
};

/// Adds the chat templates as files; returns the default one.
std::string add_templates(const File& file, std::map<std::string, std::string>& files) {
  const auto usual = file.text(kTemplate);
  if (usual) files["chat_template.jinja"] = *usual;
  for (const auto& [key, value] : file.metadata()) {
    if (!key.starts_with(kTemplate + ".")) continue;
    const std::string name = key.substr(kTemplate.size() + 1);
    const auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
    if (name.empty() || !std::ranges::all_of(name, is_plain))
      file.fail(key, "a template's name has letters, digits, _ and -");
    files["additional_chat_templates/" + name + ".jinja"] = *file.text(key);
  }
  return usual.value_or("");
}

}  // namespace

std::map<std::string, std::string> tokenizer_files(const File& file) {
  const std::string key = kIds + "model";
  const auto model = file.text(key);
  if (!model) return {};
  if (*model != "gpt2" && *model != "llama")
    file.fail(key, "only gpt2 (byte-level) and llama (SentencePiece) are read; give the model as safetensors");
  std::map<std::string, std::string> files;
  const std::string chat_template = add_templates(file, files);
  TokenizerMaker maker(file, *model == "gpt2");
  files["tokenizer.json"] = maker.tokenizer().dump() + "\n";
  files["tokenizer_config.json"] = maker.tokenizer_config().dump(2) + "\n";
  files["generation_config.json"] = maker.generation_config(chat_template).dump(2) + "\n";
  return files;
}

}  // namespace roll::gguf
