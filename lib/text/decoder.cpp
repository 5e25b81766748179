// Runs a chain of steps over the list of tokens and joins the result.
#include "text/decoder.h"

#include <memory>

#include "base/error.h"
#include "text/alphabet.h"
#include "text/byte_symbols.h"
#include "text/pattern.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

constexpr int kMaxDecoderDepth = 16;
constexpr size_t kMaxDecoderSteps = 64;
constexpr const char* kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kUnsupportedDecoder =
    "unsupported decoder; supported: ByteLevel (alone or before Fuse), Replace, ByteFallback, Fuse, Strip, Metaspace, "
    "a "
    "Sequence of these, null";

std::string joined(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

/// Appends the text of adjacent byte tokens and clears `bytes`.
void flush_bytes(std::string& bytes, std::vector<std::string>& tokens) {
  if (valid_utf8_prefix(bytes) == bytes.size()) {
    if (!bytes.empty()) tokens.push_back(bytes);
  } else {
    tokens.insert(tokens.end(), bytes.size(), kReplacementCharacter);
  }
  bytes.clear();
}

void join_bytes(std::vector<std::string>& tokens, bool more_follows) {
  std::vector<std::string> out;
  std::string bytes;
  for (std::string& token : tokens) {
    if (const auto byte = parse_byte_token(token)) {
      bytes += static_cast<char>(*byte);
      continue;
    }
    flush_bytes(bytes, out);
    out.push_back(std::move(token));
  }
  if (more_follows && !bytes.empty()) bytes = kReplacementCharacter;
  flush_bytes(bytes, out);
  tokens = std::move(out);
}

size_t num_characters(std::string_view text) {
  size_t num = 0;
  for (size_t pos = 0; pos < text.size(); ++num) next_code_point(text, pos);
  return num;
}

/// Returns a one-character string. UserError: it has another length.
const std::string& one_character(const JsonView& json) {
  if (num_characters(json.string()) != 1) json.fail("must be one character");
  return json.string();
}

std::string replace_text(const std::string& token, const std::string& old, const std::string& content) {
  std::string out;
  size_t done = 0;
  for (size_t at = 0; (at = token.find(old, done)) != std::string::npos; done = at + old.size())
    out.append(token, done, at - done).append(content);
  return out.append(token, done);
}

std::string replace_matches(const std::string& token, const Pattern& pattern, const std::string& content) {
  MatchMemory memory;
  std::vector<Span> matches;
  std::string older_text, out;
  pattern.find_all(with_older_characters(token, older_text) ? older_text : token, memory, matches);
  size_t done = 0;
  for (const Span& match : matches) {
    out.append(token, done, match.begin - done).append(content);
    done = match.end;
  }
  return out.append(token, done);
}

}  // namespace

TokenDecoder::TokenDecoder(const JsonView& json) : joins_by_spaces_(false) {
  add(json, 0);
  if (steps_.size() > kMaxDecoderSteps)
    json.fail(fmt::format("has {} steps; at most {} are supported", steps_.size(), kMaxDecoderSteps));
}

void TokenDecoder::add(const JsonView& json, int depth) {
  const JsonView type = json.at("type");
  const std::string& name = type.string();
  if (depth > kMaxDecoderDepth) json.fail("sequences are nested too deeply");
  if (is_byte_level_ && name != "Fuse") type.fail(kUnsupportedDecoder);
  if (name == "Sequence") {
    const JsonView parts = json.at("decoders");
    for (size_t i = 0; i < parts.array().size(); ++i) add(parts.at(i), depth + 1);
  } else if (name == "ByteLevel") {
    if (!steps_.empty()) type.fail(kUnsupportedDecoder);
    is_byte_level_ = true;
  } else if (name == "Replace") {
    add_replace(json);
  } else if (name == "ByteFallback") {
    has_byte_tokens_ = true;
    steps_.push_back([](std::vector<std::string>& tokens, const Call& call) { join_bytes(tokens, call.more_follows); });
  } else if (name == "Fuse") {
    is_fused_ = true;
    steps_.push_back([](std::vector<std::string>& tokens, const Call&) { tokens = {joined(tokens)}; });
  } else if (name == "Strip") {
    add_strip(json);
  } else if (name == "Metaspace") {
    add_metaspace(json);
  } else {
    type.fail(kUnsupportedDecoder);
  }
}

void TokenDecoder::add_replace(const JsonView& json) {
  const JsonView pattern_json = json.at("pattern");
  std::function<std::string(const std::string&)> replace;
  if (const auto text = pattern_json.get("String")) {
    if (text->string().empty()) text->fail("must not be empty");
    if (is_fused_ && num_characters(text->string()) > 1) text->fail("must be one character after Fuse");
    replace = [old = text->string(), content = json.at("content").string()](const std::string& token) {
      return replace_text(token, old, content);
    };
  } else {
    if (is_fused_) pattern_json.fail("must be one character after Fuse");
    replace = [pattern = std::make_shared<Pattern>(read_pattern(pattern_json)), content = json.at("content").string()](
                  const std::string& token) { return replace_matches(token, *pattern, content); };
  }
  steps_.push_back([replace](std::vector<std::string>& tokens, const Call&) {
    for (std::string& token : tokens) token = replace(token);
  });
}

/// Before Fuse, strips the start of each token; after Fuse, the start of the text.
void TokenDecoder::add_strip(const JsonView& json) {
  const std::string sign = one_character(json.at("content"));
  const int64_t max_signs = json.at("start").id();
  json.only("stop", {0}, "must be 0: the end of a text cannot be stripped, because text is decoded while it grows");
  steps_.push_back([sign, max_signs, is_fused = is_fused_](std::vector<std::string>& tokens, const Call& call) {
    if (is_fused && !call.is_start) return;
    for (std::string& token : tokens) {
      size_t begin = 0;
      for (int64_t i = 0; i < max_signs && token.compare(begin, sign.size(), sign) == 0; ++i) begin += sign.size();
      token.erase(0, begin);
    }
  });
}

void TokenDecoder::add_metaspace(const JsonView& json) {
  const std::string sign = one_character(json.at("replacement"));
  const auto scheme = json.get("prepend_scheme");
  const bool drops = scheme ? scheme->string() != "never" : json.boolean_or("add_prefix_space", true);
  steps_.push_back([sign, drops](std::vector<std::string>& tokens, const Call& call) {
    for (size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = replace_text(tokens[i], sign, drops && i == 0 && call.is_start ? "" : " ");
  });
}

std::string TokenDecoder::bytes_behind(const std::string& spelling) const {
  // A token with a character that maps to no byte decodes to itself, as in HF.
  if (is_byte_level_) return unspell_bytes(spelling).value_or(spelling);
  if (joins_by_spaces_) return " " + spelling;
  if (const auto byte = parse_byte_token(spelling); byte && has_byte_tokens_) return {static_cast<char>(*byte)};
  std::vector<std::string> tokens{spelling};
  for (const Step& step : steps_) step(tokens, {.is_start = false, .more_follows = false});
  return joined(tokens);
}

std::string TokenDecoder::text(std::vector<std::string> tokens, bool more_follows) const {
  for (const Step& step : steps_) step(tokens, {.is_start = true, .more_follows = more_follows});
  if (!joins_by_spaces_) return joined(tokens);
  std::string text;
  for (const std::string& token : tokens) text += (&token == tokens.data() ? "" : " ") + token;
  return text;
}

}  // namespace roll
