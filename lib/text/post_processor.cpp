#include "text/post_processor.h"

#include "base/error.h"

namespace roll {

namespace {

constexpr int kMaxProcessorDepth = 16;
constexpr size_t kMaxTokens = 1000;
constexpr std::string_view kUnsupportedPostProcessor =
    "unsupported post-processor; supported: TemplateProcessing, ByteLevel, Sequence";

std::vector<int64_t> special_token_ids(const JsonView& json, const JsonView& piece) {
  const JsonView name = piece.at("id");
  const auto entry = json.at("special_tokens").get(name.string());
  if (!entry) name.fail("is not among the special_tokens of this template");
  const JsonView ids = entry->at("ids");
  std::vector<int64_t> out;
  for (size_t i = 0; i < ids.array().size(); ++i) out.push_back(ids.at(i).id());
  return out;
}

/// Adds a template's tokens around those of earlier templates in a Sequence.
void read_template(const JsonView& json, PostProcessor& out) {
  std::vector<int64_t> before, after;
  bool seen_text = false;
  const JsonView pieces = json.at("single");
  for (size_t i = 0; i < pieces.array().size(); ++i) {
    const JsonView piece = pieces.at(i);
    if (piece.get("Sequence")) {
      if (seen_text) piece.fail("the text occurs twice in this template, which is not supported");
      seen_text = true;
      continue;
    }
    const auto ids = special_token_ids(json, piece.at("SpecialToken"));
    std::vector<int64_t>& side = seen_text ? after : before;
    if (side.size() + ids.size() > kMaxTokens) piece.fail(fmt::format("more than {} tokens on a side", kMaxTokens));
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!seen_text) pieces.fail("must hold {\"Sequence\": ...}, the text itself");
  out.before.insert(out.before.begin(), before.begin(), before.end());
  out.after.insert(out.after.end(), after.begin(), after.end());
  if (out.before.size() + out.after.size() > kMaxTokens)
    json.fail(fmt::format("adds more than {} tokens to every text", kMaxTokens));
}

void read(const JsonView& json, PostProcessor& out, int depth) {
  const JsonView type = json.at("type");
  if (depth > kMaxProcessorDepth) json.fail("sequences are nested too deeply");
  if (type.string() == "Sequence") {
    const JsonView parts = json.at("processors");
    for (size_t i = 0; i < parts.array().size(); ++i) read(parts.at(i), out, depth + 1);
  } else if (type.string() == "TemplateProcessing") {
    read_template(json, out);
  } else if (type.string() != "ByteLevel") {  // ByteLevel only trims offsets
    type.fail(kUnsupportedPostProcessor);
  }
}

}  // namespace

PostProcessor read_post_processor(const JsonView& json) {
  PostProcessor out;
  read(json, out, 0);
  return out;
}

}  // namespace roll
