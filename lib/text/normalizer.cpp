// Runs a chain of steps that rewrite the text in place.
#include "text/normalizer.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>

#include <memory>

#include "base/error.h"
#include "unicode/unicode.h"

namespace roll {

namespace {

constexpr int kMaxNormalizerDepth = 16;
constexpr size_t kMaxNormalizerSteps = 64;
// NFKD expands a byte to at most 11; the rest is for Prepend.
constexpr size_t kMaxGrowth = 16, kMaxAdded = 1 << 16;
constexpr std::string_view kUnsupportedNormalizer =
    "unsupported normalizer; supported: NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, Sequence";

void check(UErrorCode status, const char* what) {
  if (U_FAILURE(status)) throw system_error("ICU: {}: {}", what, u_errorName(status));
}

const icu::Normalizer2* icu_form(const std::string& form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = form == "NFC"    ? icu::Normalizer2::getNFCInstance(status)
                                       : form == "NFD"  ? icu::Normalizer2::getNFDInstance(status)
                                       : form == "NFKC" ? icu::Normalizer2::getNFKCInstance(status)
                                                        : icu::Normalizer2::getNFKDInstance(status);
  check(status, form.c_str());
  return normalizer;
}

/// HF's normalization uses Unicode 9: newer characters stay unchanged and do not compose.
class UnicodeForm {
 public:
  explicit UnicodeForm(const std::string& form)
      : full_(icu_form(form)), known_(known_characters()), filtered_(*full_, known_) {}

  void operator()(std::string& text) const {
    UErrorCode status = U_ZERO_ERROR;
    // Text that is normalized by today's tables is also normalized by older ones.
    if (is_ascii(text) || full_->isNormalizedUTF8(text, status)) return;
    std::string out;
    icu::StringByteSink<std::string> sink(&out);
    filtered_.normalizeUTF8(0, text, sink, nullptr, status);
    check(status, "normalization");
    text = std::move(out);
  }

 private:
  static icu::UnicodeSet known_characters() {
    UErrorCode status = U_ZERO_ERROR;
    icu::UnicodeSet set(u"[:age=9.0:]", status);
    check(status, "the characters of Unicode 9");
    set.freeze();
    return set;
  }

  const icu::Normalizer2* full_;
  icu::UnicodeSet known_;
  icu::FilteredNormalizer2 filtered_;
};

void lowercase(std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const char32_t c = next_code_point(text, pos);
    if (c < 0x80)
      out += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 0x20 : c);
    else
      append_lowercase(out, c);
  }
  text = std::move(out);
}

void strip(std::string& text, bool left, bool right) {
  size_t begin = 0, end = text.size();
  for (size_t pos = 0; left && pos < end && is_white_space(next_code_point(text, pos));) begin = pos;
  for (size_t pos = end; right && pos > begin && is_white_space(previous_code_point(text, pos));) end = pos;
  text = text.substr(begin, end - begin);
}

/// Stops when the text exceeds `max_bytes` bytes; the caller then throws.
void replace(std::string& text, const Pattern& pattern, const std::string& content, size_t max_bytes,
             MatchMemory& memory) {
  std::vector<Span> matches;
  std::string older_text;
  pattern.find_all(!pattern.is_literal() && with_older_characters(text, older_text) ? older_text : text, memory,
                   matches);
  if (matches.empty()) return;
  std::string out;
  size_t done = 0;
  for (const Span& match : matches) {
    out.append(text, done, match.begin - done).append(content);
    done = match.end;
    if (out.size() > max_bytes) break;
  }
  text = out.append(text, done);
}

}  // namespace

Normalizer::Normalizer(const JsonView& json) : where_(json.where()) {
  add(json, 0);
  if (steps_.size() > kMaxNormalizerSteps)
    throw user_error("{}: {} steps; at most {} are supported", where_, steps_.size(), kMaxNormalizerSteps);
}

void Normalizer::add(const JsonView& json, int depth) {
  const JsonView type = json.at("type");
  const std::string& name = type.string();
  if (depth > kMaxNormalizerDepth) json.fail("sequences are nested too deeply");
  if (name == "Sequence") {
    const JsonView parts = json.at("normalizers");
    for (size_t i = 0; i < parts.array().size(); ++i) add(parts.at(i), depth + 1);
  } else if (name == "NFC" || name == "NFD" || name == "NFKC" || name == "NFKD") {
    steps_.push_back([form = std::make_shared<UnicodeForm>(name)](std::string& text, const Call&) { (*form)(text); });
  } else if (name == "Lowercase") {
    steps_.push_back([](std::string& text, const Call&) { lowercase(text); });
  } else if (name == "Prepend") {
    steps_.push_back([prefix = json.at("prepend").string()](std::string& text, const Call& call) {
      if (!text.empty() && !call.continues_text) text.insert(0, prefix);
    });
  } else if (name == "Strip") {
    const bool left = json.at("strip_left").boolean(), right = json.at("strip_right").boolean();
    steps_.push_back([left, right](std::string& text, const Call&) { strip(text, left, right); });
  } else if (name == "Replace") {
    auto pattern = std::make_shared<Pattern>(read_pattern(json.at("pattern")));
    steps_.push_back([pattern, content = json.at("content").string()](std::string& text, const Call& call) {
      replace(text, *pattern, content, call.max_bytes, call.memory);
    });
  } else {
    type.fail(kUnsupportedNormalizer);
  }
}

void Normalizer::apply(std::string& text, MatchMemory& memory, bool continues_text) const {
  const size_t num_bytes = text.size(), max_bytes = kMaxGrowth * num_bytes + kMaxAdded;
  for (const Step& step : steps_) {
    step(text, {.max_bytes = max_bytes, .continues_text = continues_text, .memory = memory});
    if (text.size() > max_bytes)
      throw user_error("{}: makes more than {} bytes from a text of {} bytes; repair its replacements", where_,
                       max_bytes, num_bytes);
  }
}

}  // namespace roll
