#include "text/pre_tokenizer.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

constexpr int kMaxSplitDepth = 16;
constexpr size_t kMaxSteps = 64;
constexpr std::string_view kUnsupportedPreTokenizer =
    "unsupported pre-tokenizer; supported: Sequence, Split, Digits, Whitespace, WhitespaceSplit, Metaspace, ByteLevel "
    "(last)";
// GPT-2's split expression, used by ByteLevel with use_regex.
constexpr std::string_view kGpt2Words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A part of a piece: a delimiter match, or the text between two matches.
struct Part {
  Span span;
  bool match;
};

using Join = void (*)(const std::vector<Part>& parts, std::vector<Span>& out);

/// Appends the parts. A part is merged with the one before it if `joins(before is a match, this is a match)`.
template <auto joins>
void join(const std::vector<Part>& parts, std::vector<Span>& out) {
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && joins(parts[i - 1].match, parts[i].match))
      out.back().end = parts[i].span.end;
    else
      out.push_back(parts[i].span);
  }
}

constexpr Join kIsolate = join<[](bool, bool) { return false; }>;
constexpr Join kMergeWithNext = join<[](bool before, bool here) { return before && !here; }>;

void remove(const std::vector<Part>& parts, std::vector<Span>& out) {
  for (const Part& part : parts)
    if (!part.match) out.push_back(part.span);
}

Join read_behavior(const JsonView& json) {
  const std::string& name = json.string();
  if (name == "Isolated") return kIsolate;
  if (name == "Removed") return remove;
  if (name == "Contiguous") return join<[](bool before, bool here) { return before == here; }>;
  if (name == "MergedWithPrevious") return join<[](bool before, bool here) { return here && !before; }>;
  if (name == "MergedWithNext") return kMergeWithNext;
  json.fail("must be Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext");
}

class Split {
 public:
  Split(Pattern pattern, Join join, bool invert)
      : pattern_(std::make_shared<Pattern>(std::move(pattern))), join_(join), invert_(invert) {}

  template <class Call>
  void operator()(TextPieces& pieces, const Call& call) const {
    std::vector<Span> matches;
    std::vector<Part> parts;
    pieces.cut_each([&](const Span& span, std::vector<Span>& out) {
      matches.clear();
      pattern_->find_all(pattern_->is_literal() ? pieces.piece(span) : pieces.older_piece(span), call.memory, matches);
      parts.clear();
      size_t done = span.begin;
      for (const Span& match : matches) {
        const Span found{span.begin + match.begin, span.begin + match.end};
        if (found.begin > done) parts.push_back({{done, found.begin}, invert_});
        parts.push_back({found, !invert_});
        done = found.end;
      }
      if (done < span.end) parts.push_back({{done, span.end}, invert_});
      join_(parts, out);
    });
  }

 private:
  std::shared_ptr<const Pattern> pattern_;
  Join join_;
  bool invert_;
};

/// Splits where kind(character) changes; kind 0 is dropped, and characters of kind -1 are single pieces.
template <int kind(char32_t)>
void split_by_kind(TextPieces& pieces) {
  pieces.cut_each([&](const Span& span, std::vector<Span>& out) {
    int previous = 0;
    for (size_t pos = span.begin; pos < span.end;) {
      const size_t begin = pos;
      const int here = kind(next_code_point(pieces.text(), pos));
      if (here != 0 && here == previous && here != -1)
        out.back().end = pos;
      else if (here != 0)
        out.push_back({begin, pos});
      previous = here;
    }
  });
}

int digit_runs(char32_t c) {
  return is_numeric(c) ? 2 : 1;
}
int single_digits(char32_t c) {
  return is_numeric(c) ? -1 : 1;
}
int between_spaces(char32_t c) {
  return is_white_space(c) ? 0 : 1;
}
int words_and_signs(char32_t c) {
  return is_word(c) ? 1 : is_white_space(c) ? 0 : 2;
}

}  // namespace

void TextPieces::reset(std::string_view text) {
  text_ = text;
  older_ = with_older_characters(text, older_storage_) ? std::string_view(older_storage_) : text;
  spans_.clear();
  if (!text.empty()) spans_.push_back({0, text.size()});
}

template <class Cut>
void TextPieces::cut_each(const Cut& cut) {
  next_.clear();
  for (const Span& span : spans_) cut(span, next_);
  std::erase_if(next_, [](const Span& span) { return span.begin == span.end; });
  std::swap(spans_, next_);
}

template <class Rewrite>
void TextPieces::rewrite_each(const Rewrite& rewrite) {
  const bool has_older = older_.data() != text_.data();
  std::string text, older;
  text.reserve(text_.size() + text_.size() / 4);
  next_.clear();
  for (const Span& span : spans_) {
    const size_t begin = text.size();
    rewrite(piece(span), span, text);
    if (has_older) rewrite(older_piece(span), span, older);
    next_.push_back({begin, text.size()});
  }
  text_ = older_ = text_storage_ = std::move(text);
  if (has_older) older_ = older_storage_ = std::move(older);
  std::swap(spans_, next_);
}

PreTokenizer::PreTokenizer(const JsonView& json) {
  add(json, 0);
  if (steps_.size() > kMaxSteps)
    json.fail(fmt::format("has {} steps; at most {} are supported", steps_.size(), kMaxSteps));
}

void PreTokenizer::add(const JsonView& json, int depth) {
  const JsonView type = json.at("type");
  const std::string& name = type.string();
  if (depth > kMaxSplitDepth) json.fail("sequences are nested too deeply");
  if (byte_level_) json.fail("follows ByteLevel, which must be the last step");
  if (name == "Sequence") {
    const JsonView parts = json.at("pretokenizers");
    for (size_t i = 0; i < parts.array().size(); ++i) add(parts.at(i), depth + 1);
  } else if (name == "Split") {
    steps_.push_back(
        Split(read_pattern(json.at("pattern")), read_behavior(json.at("behavior")), json.boolean_or("invert", false)));
  } else if (name == "Digits") {
    const auto cut =
        json.boolean_or("individual_digits", false) ? split_by_kind<single_digits> : split_by_kind<digit_runs>;
    steps_.push_back([cut](TextPieces& pieces, const Call&) { cut(pieces); });
  } else if (name == "WhitespaceSplit") {
    steps_.push_back([](TextPieces& pieces, const Call&) { split_by_kind<between_spaces>(pieces); });
  } else if (name == "Whitespace") {
    steps_.push_back([](TextPieces& pieces, const Call&) { split_by_kind<words_and_signs>(pieces); });
  } else if (name == "Metaspace") {
    add_metaspace(json);
  } else if (name == "ByteLevel") {
    add_byte_level(json);
  } else {
    type.fail(kUnsupportedPreTokenizer);
  }
}

void PreTokenizer::add_byte_level(const JsonView& json) {
  byte_level_ = true;
  if (json.boolean_or("add_prefix_space", true))
    steps_.push_back([](TextPieces& pieces, const Call& call) {
      pieces.rewrite_each([&](std::string_view piece, const Span& span, std::string& out) {
        if (piece[0] != ' ' && !(call.place.continues_text && span.begin == 0)) out += ' ';
        out += piece;
      });
    });
  if (json.boolean_or("use_regex", true))
    steps_.push_back(Split(Pattern::regex(kGpt2Words, json.where()), kIsolate, false));
}

/// Replaces spaces as SentencePiece does, and adds a prefix space as configured.
void PreTokenizer::add_metaspace(const JsonView& json) {
  enum class Prepend { kAlways, kFirst, kNever };
  const std::string sign = json.at("replacement").string();
  size_t end = 0;
  if (!sign.empty()) next_code_point(sign, end);
  if (end == 0 || end < sign.size()) json.at("replacement").fail("must be one character");
  json.only("prepend_scheme", {"always", "first", "never"}, "must be always, first or never");
  const auto scheme = json.get("prepend_scheme");
  const std::string& word = scheme ? scheme->string() : "always";
  const bool never = !json.boolean_or("add_prefix_space", true);  // key of older files
  if (never && scheme && word != "never") scheme->fail("must be never, because add_prefix_space is false");
  const Prepend scheme_kind = never || word == "never" ? Prepend::kNever
                              : word == "first"        ? Prepend::kFirst
                                                       : Prepend::kAlways;
  steps_.push_back([sign, scheme_kind](TextPieces& pieces, const Call& call) {
    pieces.rewrite_each([&](std::string_view piece, const Span& span, std::string& out) {
      const bool begins = span.begin == 0 && call.place.is_first;
      const bool adds_prefix = scheme_kind == Prepend::kAlways ? span.begin > 0 || !call.place.continues_text
                                                               : scheme_kind == Prepend::kFirst && begins;
      if (adds_prefix && piece[0] != ' ' && !piece.starts_with(sign)) out += sign;
      for (const char c : piece) c == ' ' ? out += sign : out += c;
    });
  });
  if (json.boolean_or("split", true))
    steps_.push_back(Split(Pattern::literal(sign, json.where()), kMergeWithNext, false));
}

void PreTokenizer::split(TextPieces& pieces, const TextPlace& place, MatchMemory& memory) const {
  for (const Step& step : steps_) step(pieces, {place, memory});
}

}  // namespace roll
