#include "text/special_tokens.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEndTokens = 1000;

/// Calls `use(view)` if the file exists.
template <class Use>
void with_file(const fs::path& file, const Use& use) {
  if (!is_there(file)) return;
  const FileJson json = parse_python_file_json(read_file(file), file.string());
  use(JsonView(json, file.string()).object());
}

constexpr auto kTokenNames = {"bos_token", "eos_token", "unk_token", "sep_token",
                              "pad_token", "cls_token", "mask_token"};

/// Returns the spelling from "token" or {"content": "token", ...}.
std::string read_spelling(const JsonView& token) {
  return token.value().is_object() ? token.at("content").string() : token.string();
}

using TokensByName = std::map<std::string, NamedToken>;

/// Later calls override earlier ones; null removes the token.
void name_token(const JsonView& file, const std::string& name, TokensByName& out) {
  if (!file.value().contains(name)) return;
  out.erase(name);
  if (const auto token = file.get(name)) out[name] = {name, read_spelling(*token), token->where()};
}

/// Models add names such as image_token; other keys with this suffix are flags (add_bos_token).
void name_config_tokens(const JsonView& config, TokensByName& out) {
  for (const char* name : kTokenNames) name_token(config, name, out);
  for (const auto& [key, value] : config.value().items())
    if (key.ends_with("_token") && (value.is_string() || value.is_object())) name_token(config, key, out);
  const auto extra = config.get("extra_special_tokens");
  if (!extra || !extra->value().is_object()) return;
  for (const auto& [key, value] : extra->value().items()) name_token(*extra, key, out);
}

void read_eos(const NamedToken& token, SpecialTokens& out) {
  if (token.name != "eos_token" || out.eos) return;
  out.eos = token.spelling;
  out.eos_place = token.place;
}

void read_eos_ids(const JsonView& json, SpecialTokens& out) {
  const auto eos = json.get("eos_token_id");
  if (!eos || !out.eos_ids.empty()) return;
  if (!eos->value().is_array()) return out.eos_ids.push_back(eos->id());
  if (eos->size() > kMaxEndTokens) eos->fail(fmt::format("at most {} ids are supported", kMaxEndTokens));
  for (size_t i = 0; i < eos->size(); ++i) out.eos_ids.push_back(eos->at(i).id());
}

void read_added_tokens(const JsonView& json, SpecialTokens& out) {
  const auto decoder = json.get("added_tokens_decoder");
  if (!decoder) return;
  for (const auto& [key, value] : decoder->object().value().items()) {
    const JsonView entry = decoder->at(key);
    AddedToken token = read_added_token(entry);
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token.id);
    if (error != std::errc() || end != key.data() + key.size() || token.id < 0 || token.id > kMaxTokenId)
      entry.fail("its key must be a token id");
    out.added.push_back(std::move(token));
  }
  std::ranges::sort(out.added, {}, &AddedToken::id);
}

}  // namespace

std::vector<NamedToken> read_named_tokens(const fs::path& folder) {
  TokensByName named;
  bool has_decoder = false;
  with_file(folder / "tokenizer_config.json", [&](const JsonView& json) {
    has_decoder = json.value().contains("added_tokens_decoder");
    name_config_tokens(json, named);
  });
  if (!has_decoder)
    with_file(folder / "special_tokens_map.json", [&](const JsonView& json) {
      for (const char* name : kTokenNames) name_token(json, name, named);
    });
  std::vector<NamedToken> out;
  for (auto& [name, token] : named) out.push_back(std::move(token));
  return out;
}

SpecialTokens read_special_tokens(const fs::path& folder) {
  SpecialTokens out;
  for (const NamedToken& token : read_named_tokens(folder)) read_eos(token, out);
  with_file(folder / "tokenizer_config.json", [&](const JsonView& json) { read_added_tokens(json, out); });
  with_file(folder / "special_tokens_map.json", [&](const JsonView& json) {
    if (const auto eos = json.get("eos_token")) read_eos({"eos_token", read_spelling(*eos), eos->where()}, out);
  });
  with_file(folder / "generation_config.json", [&](const JsonView& json) { read_eos_ids(json, out); });
  with_file(folder / "config.json", [&](const JsonView& json) { read_eos_ids(json, out); });
  return out;
}

}  // namespace roll
