#include "text/tokenizer.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "checkpoint/base_folder.h"
#include "text/added_tokens.h"
#include "text/byte_pairs.h"
#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"
#include "text/special_tokens.h"
#include "unicode/unicode.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Scratch memory of an encode call, reused between calls.
struct Workspace {
  MatchMemory memory;
  WordCache words;
  TextPieces pieces;
  std::vector<Segment> segments, normalized_segments;
  std::string normalized;
};

/// Holds one workspace per concurrently encoding thread.
class WorkspacePool {
 public:
  std::unique_ptr<Workspace> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Workspace>();
    auto workspace = std::move(free_.back());
    free_.pop_back();
    return workspace;
  }
  void give_back(std::unique_ptr<Workspace> workspace) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(workspace));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Workspace>> free_;
};

/// Tokens by id: spelling in the file, and bytes in a text.
class TokenTable {
 public:
  void set(int64_t id, const std::string& spelling, std::string bytes) {
    if (id >= size()) {
      spellings_.resize(id + 1);
      bytes_.resize(id + 1);
      special_.resize(id + 1);
    }
    spellings_[id] = spelling;
    bytes_[id] = std::move(bytes);
  }
  void mark_special(int64_t id) { special_[id] = true; }
  int64_t size() const { return static_cast<int64_t>(spellings_.size()); }
  bool has(int64_t id) const { return id >= 0 && id < size() && !spellings_[id].empty(); }
  bool is_special(int64_t id) const { return has(id) && special_[id]; }
  const std::string& spelling(int64_t id) const { return spellings_[id]; }
  const std::string& bytes(int64_t id) const { return bytes_[id]; }

 private:
  std::vector<std::string> spellings_, bytes_;
  std::vector<bool> special_;
};

/// Returns true for special tokens that mark tool calls in any model family (environment/marked_calls.h).
bool marks_calls(std::string_view token) {
  constexpr std::array kMarks{
      "[TOOL_CALLS]",          "[CALL_ID]",           "[ARGS]",       "<tool_call>",      "</tool_call>",
      "<|tool_call|>",         "<|/tool_call|>",      "<|tool_call>", "<tool_call|>",     "<|\"|>",
      "<start_function_call>", "<end_function_call>", "<escape>",     "<function_calls>", "</function_calls>",
      "<|python_tag|>"};
  return std::ranges::find(kMarks, token) != kMarks.end();
}

/// Sequences are packed and cut by token budgets, so the file's truncation and padding are ignored.
const JsonView& check_version(const JsonView& json) {
  json.only("version", {"1.0"}, "must be \"1.0\"");
  return json;
}

Normalizer read_normalizer(const JsonView& json) {
  const auto section = json.get("normalizer");
  return section ? Normalizer(*section) : Normalizer();
}

PreTokenizer read_pre_tokenizer(const JsonView& json) {
  const auto section = json.get("pre_tokenizer");
  return section ? PreTokenizer(*section) : PreTokenizer();
}

TokenDecoder read_decoder(const JsonView& json) {
  const auto section = json.get("decoder");
  return section ? TokenDecoder(*section) : TokenDecoder();
}

}  // namespace

struct Tokenizer::Parts {
  explicit Parts(const JsonView& json)
      : normalizer(read_normalizer(check_version(json))),
        pre_tokenizer(read_pre_tokenizer(json)),
        model(json.at("model"), pre_tokenizer.symbols()),
        decoder(read_decoder(json)) {
    if (const auto section = json.get("post_processor")) post_processor = read_post_processor(*section);
    for (const auto& [token, id] : model.vocabulary()) table.set(id, token, decoder.bytes_behind(token));
    next_id = static_cast<int64_t>(model.vocabulary().size());
    read_added(json);
  }

  void read_added(const JsonView& json);
  void add(AddedToken token, const JsonView& where);
  void add_missing(const std::vector<AddedToken>& tokens, const std::string& file);
  void find_added();
  std::optional<int64_t> find_id(std::string_view token) const;
  int64_t end_token(const std::string& token, const std::string& place) const;
  void read_folder(const fs::path& folder);

  void encode_text(std::string_view text, const TextPlace& place, bool parse_special, std::vector<int64_t>& ids) const;
  void encode_segment(std::string_view text, const TextPlace& place, bool parse_special, Workspace& w,
                      std::vector<int64_t>& ids) const;
  void encode_words(std::string_view text, const TextPlace& place, Workspace& w, std::vector<int64_t>& ids) const;

  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  BytePairs model;
  TokenDecoder decoder;
  PostProcessor post_processor;
  std::vector<AddedToken> added_list;
  Vocabulary added_ids;
  int64_t next_id = 0;  // next id for added tokens outside the model's vocabulary
  AddedTokens added;
  TokenTable table;
  std::vector<int64_t> eos_ids;
  mutable WorkspacePool workspaces;
};

// ---- loading

void Tokenizer::Parts::read_added(const JsonView& json) {
  if (const auto list = json.get("added_tokens"))
    for (size_t i = 0; i < list->array().size(); ++i) {
      const JsonView entry = list->at(i);
      AddedToken token = read_added_token(entry);
      token.id = static_cast<int32_t>(entry.at("id").id());
      if (added_ids.contains(token.content)) entry.fail(fmt::format("'{}' is listed twice", token.content));
      add(std::move(token), entry);
    }
  find_added();
}

/// HF assigns ids to added tokens and ignores their "id"; a file where both disagree is rejected.
void Tokenizer::Parts::add(AddedToken token, const JsonView& where) {
  const auto in_model = model.vocabulary().find(token.content);
  const bool is_new = in_model == model.vocabulary().end();
  const int64_t expected = is_new ? next_id : in_model->second;
  if (token.id != expected || (is_new && table.has(expected)))
    throw user_error("{}: '{}' has id {}, but by the vocabulary it must have {}; correct the id", where.where(),
                     token.content, token.id, expected);
  next_id = std::max<int64_t>(next_id, token.id + 1);
  std::string spelling = token.content;  // HF decodes to the normalized form
  MatchMemory memory;
  if (token.normalized) normalizer.apply(spelling, memory);
  table.set(token.id, spelling, decoder.bytes_behind(spelling));
  if (token.special && !marks_calls(token.content)) table.mark_special(token.id);
  added_ids.emplace(token.content, token.id);
  added_list.push_back(std::move(token));
}

/// Adds tokens of tokenizer_config.json that tokenizer.json lacks.
void Tokenizer::Parts::add_missing(const std::vector<AddedToken>& tokens, const std::string& file) {
  const FileJson null_json;
  for (const AddedToken& token : tokens)
    if (!added_ids.contains(token.content)) add(token, JsonView(null_json, file, "added_tokens_decoder"));
  find_added();
}

void Tokenizer::Parts::find_added() {
  added = AddedTokens(added_list, normalizer);
}

std::optional<int64_t> Tokenizer::Parts::find_id(std::string_view token) const {
  if (const auto entry = added_ids.find(token); entry != added_ids.end()) return entry->second;
  if (const auto entry = model.vocabulary().find(token); entry != model.vocabulary().end()) return entry->second;
  return {};
}

int64_t Tokenizer::Parts::end_token(const std::string& token, const std::string& place) const {
  if (const auto id = find_id(token)) return *id;
  throw user_error("{} = {}: must be a token of tokenizer.json; repair it", place, to_line(Json(token)).substr(0, 80));
}

void Tokenizer::Parts::read_folder(const fs::path& folder) {
  const SpecialTokens special = read_special_tokens(folder);
  add_missing(special.added, (folder / "tokenizer_config.json").string());
  eos_ids = special.eos_ids;
  if (special.eos) eos_ids.push_back(end_token(*special.eos, special.eos_place));
  std::vector<int64_t> distinct_ids;
  for (const int64_t id : eos_ids)
    if (std::ranges::find(distinct_ids, id) == distinct_ids.end()) distinct_ids.push_back(id);
  eos_ids = distinct_ids;
}

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, const std::string& origin) {
  const FileJson json = parse_file_json(tokenizer_json, origin);
  return Tokenizer(std::make_shared<Parts>(JsonView(json, origin).object()));
}

Tokenizer Tokenizer::load(const fs::path& model) {
  const fs::path folder = tokenizer_folder(model);
  const fs::path file = folder / "tokenizer.json";
  if (!is_there(file))
    throw user_error(
        "{}: the folder has no tokenizer.json; save it with its fast tokenizer (tokenizer.save_pretrained)",
        folder.string());
  const FileJson json = parse_file_json(read_file(file), file.string());
  const auto parts = std::make_shared<Parts>(JsonView(json, file.string()).object());
  parts->read_folder(folder);
  return Tokenizer(parts);
}

// ---- encoding

void Tokenizer::Parts::encode_text(std::string_view text, const TextPlace& place, bool parse_special,
                                   std::vector<int64_t>& ids) const {
  if (const size_t valid = valid_utf8_prefix(text); valid < text.size())
    throw user_error("text to tokenize: byte {} of {} is not UTF-8; convert the text first", valid, text.size());
  auto w = workspaces.take();
  w->segments.clear();
  added.split(text, false, parse_special, w->segments);
  for (const Segment& segment : w->segments) {
    if (segment.id >= 0)
      ids.push_back(segment.id);
    else
      encode_segment(text.substr(segment.begin, segment.end - segment.begin),
                     segment.begin == 0 ? place : TextPlace{.is_first = false}, parse_special, *w, ids);
  }
  workspaces.give_back(std::move(w));
}

void Tokenizer::Parts::encode_segment(std::string_view text, const TextPlace& place, bool parse_special, Workspace& w,
                                      std::vector<int64_t>& ids) const {
  if (!normalizer.empty()) {
    w.normalized.assign(text);
    normalizer.apply(w.normalized, w.memory, place.continues_text);
    text = w.normalized;
  }
  if (!added.any_normalized()) return encode_words(text, place, w, ids);
  w.normalized_segments.clear();
  added.split(text, true, parse_special, w.normalized_segments);
  for (const Segment& segment : w.normalized_segments) {
    if (segment.id >= 0)
      ids.push_back(segment.id);
    else
      encode_words(text.substr(segment.begin, segment.end - segment.begin),
                   segment.begin == 0 ? place : TextPlace{.is_first = false}, w, ids);
  }
}

void Tokenizer::Parts::encode_words(std::string_view text, const TextPlace& place, Workspace& w,
                                    std::vector<int64_t>& ids) const {
  w.pieces.reset(text);
  pre_tokenizer.split(w.pieces, place, w.memory);
  for (const Span& span : w.pieces.spans()) model.encode(w.pieces.piece(span), w.words, ids);
}

std::vector<int64_t> Tokenizer::encode(std::string_view text, bool parse_special, bool add_special) const {
  std::vector<int64_t> ids;
  ids.reserve(text.size() / 3 + 8);
  const auto& before = parts_->post_processor.before;
  if (add_special) ids.assign(before.begin(), before.end());
  parts_->encode_text(text, {}, parse_special, ids);
  const auto& after = parts_->post_processor.after;
  if (add_special) ids.insert(ids.end(), after.begin(), after.end());
  return ids;
}

std::vector<int64_t> Tokenizer::encode_behind(std::span<const int64_t> before, std::string_view text) const {
  const AddedToken* const token = before.empty() ? nullptr : parts_->added.find(before.back());
  if (token && token->rstrip) text.remove_prefix(space_end(text, 0));
  std::vector<int64_t> ids;
  parts_->encode_text(text, {.is_first = before.empty(), .continues_text = !token && !before.empty()},
                      /*parse_special=*/true, ids);
  return ids;
}

// ---- decoding and the rest

std::string Tokenizer::disarmed(std::string text) const {
  for (const AddedToken& token : parts_->added.tokens()) {
    if (!token.special) continue;
    const size_t first = next_character(token.content, 1);  // bytes of the first character
    std::string separated;
    size_t done = 0;
    for (size_t at = 0; (at = text.find(token.content, at)) != std::string::npos; done = at) {
      at += first;
      separated.append(text, done, at - done).append(" ");
    }
    text = separated.append(text, done);
  }
  return text;
}

std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special, bool more_follows) const {
  const bool is_byte_level = parts_->decoder.is_byte_level();
  std::string bytes;
  std::vector<std::string> tokens;
  for (const int64_t id : ids) {
    if (!parts_->table.has(id) || (skip_special && parts_->table.is_special(id))) continue;
    if (is_byte_level)
      bytes += parts_->table.bytes(id);
    else
      tokens.push_back(parts_->table.spelling(id));
  }
  if (!is_byte_level) return parts_->decoder.text(std::move(tokens), more_follows);
  return valid_utf8_prefix(bytes) == bytes.size() ? bytes : to_valid_utf8(bytes);
}

std::string Tokenizer::token_bytes(int64_t id) const {
  return parts_->table.has(id) ? parts_->table.bytes(id) : "";
}

int64_t Tokenizer::vocab_size() const {
  return parts_->table.size();
}
std::string Tokenizer::spelling(int64_t id) const {
  return parts_->table.has(id) ? parts_->table.spelling(id) : "";
}
std::optional<int64_t> Tokenizer::find_id(std::string_view token) const {
  return parts_->find_id(token);
}
const std::vector<int64_t>& Tokenizer::eos_ids() const {
  return parts_->eos_ids;
}

}  // namespace roll
