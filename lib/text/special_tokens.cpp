#include "text/special_tokens.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxEndTokens = 1000;

/// Calls `use(view)` when the file is there.
template <class Use>
void with_file(const fs::path& file, const Use& use) {
  if (!is_there(file)) return;
  const FileJson json = parse_python_file_json(read_file(file), file.string());
  use(JsonView(json, file.string()).object());
}

/// "token" or {"content": "token", ...}.
void read_eos(const JsonView& json, SpecialTokens& out) {
  const auto eos = json.get("eos_token");
  if (out.eos || !eos) return;
  out.eos_place = eos->where();
  out.eos = eos->value().is_object() ? eos->at("content").string() : eos->string();
}

void read_eos_ids(const JsonView& json, SpecialTokens& out) {
  const auto eos = json.get("eos_token_id");
  if (!eos || !out.eos_ids.empty()) return;
  if (!eos->value().is_array()) return out.eos_ids.push_back(eos->id());
  if (eos->size() > kMaxEndTokens) eos->fail(fmt::format("at most {} ids are read", kMaxEndTokens));
  for (size_t i = 0; i < eos->size(); ++i) out.eos_ids.push_back(eos->at(i).id());
}

void read_added(const JsonView& json, SpecialTokens& out) {
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

SpecialTokens read_special_tokens(const fs::path& folder) {
  SpecialTokens out;
  with_file(folder / "tokenizer_config.json", [&](const JsonView& json) {
    read_eos(json, out);
    read_added(json, out);
  });
  with_file(folder / "special_tokens_map.json", [&](const JsonView& json) { read_eos(json, out); });
  with_file(folder / "generation_config.json", [&](const JsonView& json) { read_eos_ids(json, out); });
  with_file(folder / "config.json", [&](const JsonView& json) { read_eos_ids(json, out); });
  return out;
}

}  // namespace roll
