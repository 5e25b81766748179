#include "checkpoint/gguf/tokenizer_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "checkpoint/gguf/pre_tokenizers.h"
#include "checkpoint/gguf/vocabulary.h"

namespace roll::gguf {

namespace {

constexpr const char* kRemedy = "give the folder itself to programs that read safetensors";

FileJson parsed(const Companions& companions, const std::string& name) {
  const auto found = companions.find(name);
  return found == companions.end() ? FileJson::object() : parse_python_file_json(found->second, name);
}

/// Returns the two parts of a merge, which tokenizer.json has as a text or a list.
std::pair<std::string, std::string> merge_parts(const FileJson& merge) {
  if (merge.is_array()) return {merge.at(0), merge.at(1)};
  const auto text = merge.get<std::string>();
  const size_t space = text.find(' ');
  return {text.substr(0, space), text.substr(std::min(space, text.size() - 1) + 1)};
}

/// Lists the merges of a tokenizer.json, but for those with special tokens: these are cut out of texts before. Adjacent
/// ones that make the same token, which scores do not order, are sorted.
std::vector<std::pair<std::string, std::string>> ordered_merges(const FileJson& tokenizer) {
  std::set<std::string> special;
  for (const FileJson& token : tokenizer.value("added_tokens", FileJson::array()))
    if (token.value("special", false)) special.insert(token.at("content").get<std::string>());
  std::vector<std::pair<std::string, std::string>> merges;
  for (const FileJson& merge : tokenizer.at("model").at("merges")) {
    const auto parts = merge_parts(merge);
    if (!special.contains(parts.first) && !special.contains(parts.second) &&
        !special.contains(parts.first + parts.second))
      merges.push_back(parts);
  }
  const auto whole = [](const auto& merge) { return merge.first + merge.second; };
  for (auto begin = merges.begin(); begin != merges.end();) {
    const auto end =
        std::find_if(begin, merges.end(), [&](const auto& merge) { return whole(merge) != whole(*begin); });
    std::sort(begin, end);
    begin = end;
  }
  return merges;
}

/// True for "<0x0A>".
bool is_byte(const std::string& text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with(">");
}

std::string with_spaces(std::string text) {
  for (size_t at = 0; (at = text.find(kSpace, at)) != std::string::npos;) text.replace(at, 3, " ");
  return text;
}

std::string spelling(const FileJson& token) {
  return token.is_object() ? token.at("content").get<std::string>() : token.is_string() ? std::string(token) : "";
}

class TokenizerMetadata {
 public:
  TokenizerMetadata(const Companions& companions, std::string folder, std::string architecture, Metadata& out)
      : companions_(companions),
        folder_(std::move(folder)),
        architecture_(std::move(architecture)),
        out_(out),
        tokenizer_(parsed(companions, "tokenizer.json")),
        config_(parsed(companions, "tokenizer_config.json")),
        model_(tokenizer_.at("model")) {}

  std::vector<std::string> add(int64_t num_rows) {
    const std::string type = model_.value("type", "");
    if (type != "BPE") fail("model.type = " + type, "only BPE is written to GGUF files");
    is_byte_level_ = tokenizer_.value("pre_tokenizer", FileJson()).dump().find("\"ByteLevel\"") != std::string::npos;
    is_byte_level_ ? add_rule() : add_spaces();
    read_added();
    read_tokens(num_rows);
    add_tokens();
    is_byte_level_ ? add_merges() : add_scores();
    add_special_ids();
    add_templates();
    return std::move(notes_);
  }

 private:
  [[noreturn]] void fail(const std::string& where, const std::string& rule) const {
    throw user_error("{}/tokenizer.json: {}: {}; {}", folder_, where, rule, kRemedy);
  }

  void add_rule() {
    const std::string name = pre_tokenizer_name(tokenizer_, architecture_);
    if (name.empty())
      fail("pre_tokenizer", "llama.cpp has no name for this way to split texts into words, which GGUF files need");
    out_.text(kIds + "model", "gpt2");
    out_.text(kIds + "pre", name);
  }

  /// SentencePiece's form: spaces become kSpace, which may also begin each text.
  void add_spaces() {
    const FileJson normalizer = tokenizer_.value("normalizer", FileJson()),
                   words = tokenizer_.value("pre_tokenizer", FileJson());
    const FileJson to_signs = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}},
                   prefix = {{"type", "Prepend"}, {"prepend", kSpace}};
    const auto is_sequence = [&](const FileJson& steps) {
      return normalizer == FileJson{{"type", "Sequence"}, {"normalizers", steps}};
    };
    const bool has_prefix = is_sequence({prefix, to_signs});
    if (!has_prefix && normalizer != to_signs && !is_sequence(FileJson::array({to_signs})))
      fail("normalizer", "is neither byte-level BPE nor has Llama 2's or Gemma's form, which GGUF files can say");
    if (!words.is_null() && (words.value("type", "") != "Split" || words.at("pattern") != FileJson{{"String", " "}}))
      fail("pre_tokenizer", "must be null, because GGUF files of SentencePiece's kind have none");
    out_.text(kIds + "model", "llama");
    out_.text(kIds + "pre", "default");
    out_.flag(kIds + "add_space_prefix", has_prefix);
  }

  /// Reads the added tokens of both files.
  void read_added() {
    for (const FileJson& token : tokenizer_.value("added_tokens", FileJson::array()))
      added_.emplace(token.at("id").get<int64_t>(), token);
    for (const auto& [id, token] : config_.value("added_tokens_decoder", FileJson::object()).items())
      added_.emplace(std::stoll(id), token);
    const auto strips = [&](const auto& entry) {
      const FileJson& token = entry.second;
      return token.value("lstrip", false) || token.value("single_word", false) ||
             (token.value("rstrip", false) && architecture_ != "phi3");
    };
    if (const auto count = std::ranges::count_if(added_, strips); count > 0)
      notes_.push_back(
          fmt::format("{}/tokenizer.json: {} added tokens take in spaces beside them or match whole words "
                      "only, which GGUF files cannot say",
                      folder_, count));
  }

  void read_tokens(int64_t num_rows) {
    std::map<int64_t, std::string> texts;
    for (const auto& [text, id] : model_.at("vocab").items()) texts[id.get<int64_t>()] = text;
    for (const auto& [id, token] : added_) texts[id] = token.at("content").get<std::string>();
    if (!texts.empty() && texts.rbegin()->first >= num_rows)
      fail(fmt::format("token {}", texts.rbegin()->first),
           fmt::format("config.json has vocab_size = {}, and GGUF files need a row for each token", num_rows));
    const std::string unknown = spelling(model_.value("unk_token", FileJson()));
    const bool has_bytes = !is_byte_level_ && model_.value("byte_fallback", false);
    for (int64_t i = 0; i < num_rows; ++i) {
      StoredToken token{.text = fmt::format("[PAD{}]", i), .kind = TokenKind::kUnused};
      if (const auto found = texts.find(i); found != texts.end()) {
        token = {.text = found->second};
        ids_.emplace(token.text, i);
        const auto added = added_.find(i);
        if (!is_byte_level_ && token.text == unknown)
          token.kind = TokenKind::kUnknown;
        else if (added != added_.end())
          token.kind = added->second.value("special", false) ? TokenKind::kControl : TokenKind::kUserDefined;
        else if (has_bytes && is_byte(token.text))
          token.kind = TokenKind::kByte;
      }
      tokens_.push_back(std::move(token));
    }
  }

  void add_tokens() {
    std::vector<std::string> texts;
    std::vector<int32_t> kinds;
    for (const StoredToken& token : tokens_) {
      const bool has_spaces = !is_byte_level_ && token.kind == TokenKind::kUserDefined;
      texts.push_back(has_spaces ? with_spaces(token.text) : token.text);
      kinds.push_back(static_cast<int32_t>(token.kind));
    }
    out_.texts(kIds + "tokens", texts);
    out_.integers(kIds + "token_type", kinds);
  }

  void add_merges() {
    std::vector<std::string> merges;
    for (const FileJson& merge : model_.at("merges")) {
      const auto [left, right] = merge_parts(merge);
      merges.push_back(left + " " + right);
    }
    out_.texts(kIds + "merges", merges);
  }

  /// Scores fall with ids if merges are in that order, as in files that come from SentencePiece, else with the first
  /// merge that makes the token.
  void add_scores() {
    std::unordered_map<std::string, size_t> first_merge;
    bool is_by_id = true;
    int64_t last = 0;
    for (const FileJson& merge : model_.at("merges")) {
      const auto [left, right] = merge_parts(merge);
      const auto whole = ids_.find(left + right);
      first_merge.emplace(left + right, first_merge.size());
      is_by_id = is_by_id && whole != ids_.end() && whole->second >= last;
      if (whole != ids_.end()) last = whole->second;
    }
    std::vector<float> scores;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      const auto found = first_merge.find(tokens_[i].text);
      const size_t rank = is_by_id ? i : found == first_merge.end() ? first_merge.size() : found->second;
      scores.push_back(added_.contains(static_cast<int64_t>(i)) ? -1000 : -static_cast<float>(rank));
    }
    out_.numbers(kIds + "scores", scores);
  }

  std::optional<int64_t> named_id(const char* name) const {
    std::string text = spelling(config_.value(name, FileJson()));
    if (text.empty() && !config_.contains("added_tokens_decoder"))
      text = spelling(parsed(companions_, "special_tokens_map.json").value(name, FileJson()));
    const auto found = ids_.find(text);
    return found == ids_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Returns the ids that texts begin and end with; nullopt: none.
  std::pair<std::optional<int64_t>, std::optional<int64_t>> frame(const FileJson& processor) const {
    std::pair<std::optional<int64_t>, std::optional<int64_t>> ends;
    const std::string type = processor.is_null() ? "ByteLevel" : processor.value("type", "");
    if (type == "ByteLevel") return ends;
    if (type == "Sequence") {
      for (const FileJson& part : processor.at("processors"))
        if (const auto found = frame(part); found.first || found.second) ends = found;
      return ends;
    }
    if (type != "TemplateProcessing") fail("post_processor.type = " + type, "GGUF files cannot say it");
    bool is_behind = false;
    for (const FileJson& piece : processor.at("single")) {
      if (piece.contains("Sequence")) {
        is_behind = true;
        continue;
      }
      const auto ids =
          processor.at("special_tokens").at(piece.at("SpecialToken").at("id").get<std::string>()).at("ids");
      auto& end = is_behind ? ends.second : ends.first;
      if (end || ids.size() != 1) fail("post_processor.single", "GGUF files can say one token at each end");
      end = ids.at(0).get<int64_t>();
    }
    return ends;
  }

  void add_special_ids() {
    const auto [before, behind] = frame(tokenizer_.value("post_processor", FileJson()));
    const auto bos = before ? before : named_id("bos_token");
    std::vector<int64_t> ends = end_ids();
    if (behind && (ends.empty() || ends.front() != *behind))
      fail("post_processor.single", fmt::format("ends with token {}, which is not eos_token", *behind));
    const auto add = [&](const char* name, std::optional<int64_t> id) {
      if (id) out_.count(kIds + name, *id);
    };
    add("bos_token_id", bos);
    const char* const end_names[] = {"eos_token_id", "eot_token_id", "eom_token_id"};
    for (size_t i = 0; i < std::min(ends.size(), std::size(end_names)); ++i) add(end_names[i], ends[i]);
    if (ends.size() > std::size(end_names))
      notes_.push_back(fmt::format("{}/generation_config.json: has {} end tokens; GGUF files can say 3, the first ones",
                                   folder_, ends.size()));
    const auto unknown = ids_.find(spelling(model_.value("unk_token", FileJson())));
    add("unknown_token_id", unknown == ids_.end() ? named_id("unk_token") : std::optional(unknown->second));
    add("padding_token_id", named_id("pad_token"));
    out_.flag(kIds + "add_bos_token", before.has_value());
    out_.flag(kIds + "add_eos_token", behind.has_value());
  }

  /// Returns eos_token, then those of generation_config.json.
  std::vector<int64_t> end_ids() const {
    std::vector<int64_t> ends;
    if (const auto eos = named_id("eos_token")) ends.push_back(*eos);
    FileJson more = parsed(companions_, "generation_config.json").value("eos_token_id", FileJson());
    if (more.is_number()) more = FileJson::array({more});
    for (const FileJson& id : more)
      if (std::ranges::find(ends, id.get<int64_t>()) == ends.end()) ends.push_back(id.get<int64_t>());
    return ends;
  }

  void add_templates() {
    std::map<std::string, std::string> templates;  // "": the usual one
    const auto add = [&](const std::string& name, std::string text) {
      templates[name == "default" ? "" : name] = std::move(text);
    };
    const FileJson given = config_.value("chat_template", FileJson());
    if (given.is_string()) add("", given);
    if (given.is_array())
      for (const FileJson& one : given) add(one.at("name"), one.at("template"));
    if (given.is_object())
      for (const auto& [name, text] : given.items()) add(name, text);
    constexpr std::string_view kMore = "additional_chat_templates/", kEnd = ".jinja";
    for (const auto& [name, text] : companions_) {
      if (name == "chat_template.jinja") add("", text);
      if (name.starts_with(kMore) && name.ends_with(kEnd))
        add(name.substr(kMore.size(), name.size() - kMore.size() - kEnd.size()), text);
    }
    for (const auto& [name, text] : templates) out_.text(name.empty() ? kTemplate : kTemplate + "." + name, text);
  }

  const Companions& companions_;
  std::string folder_, architecture_;
  Metadata& out_;
  FileJson tokenizer_, config_, model_;
  bool is_byte_level_ = false;
  std::map<int64_t, FileJson> added_;
  std::vector<StoredToken> tokens_;
  std::unordered_map<std::string, int64_t> ids_;
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<std::string> add_tokenizer(const Companions& companions, const std::string& folder,
                                       const std::string& architecture, int64_t num_rows, Metadata& metadata) {
  if (!companions.contains("tokenizer.json"))
    return {folder + ": has no tokenizer.json, so the GGUF file has no tokenizer, which llama.cpp needs"};
  try {
    return TokenizerMetadata(companions, folder, architecture, metadata).add(num_rows);
  } catch (const FileJson::exception& e) {
    throw user_error("{}: a file of the tokenizer has another form than transformers writes ({}); fetch it again",
                     folder, e.what());
  }
}

void check_merges(const Companions& companions, const std::string& folder, const std::string& read) {
  const FileJson wanted = parsed(companions, "tokenizer.json"), found = parse_file_json(read, "tokenizer.json");
  if (ordered_merges(wanted) != ordered_merges(found))
    throw user_error("{}/tokenizer.json: model.merges: no scores of tokens, which GGUF files have, give this list; {}",
                     folder, kRemedy);
}

}  // namespace roll::gguf
