#define PCRE2_CODE_UNIT_WIDTH 8
#include "reward/pattern.h"

#include <pcre2.h>

#include "base/error.h"

namespace roll {

namespace {

constexpr uint32_t kMatchLimit = 5'000'000;  // calls of the matcher: well under a second
constexpr uint32_t kHeapLimitKibibytes = 65536;

PCRE2_SPTR bytes(std::string_view s) {
  return reinterpret_cast<PCRE2_SPTR>(s.data());
}

}  // namespace

struct AnswerPattern::Code {
  pcre2_code* code = nullptr;
  pcre2_match_context* limits = nullptr;
  pcre2_match_data* data = nullptr;
  ~Code() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(limits);
    pcre2_code_free(code);
  }

  /// Whether there is a match from `start` on.
  bool match(std::string_view text, size_t start) const {
    const int rc = pcre2_match(code, bytes(text), text.size(), start, 0, data, limits);
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_DEPTHLIMIT || rc == PCRE2_ERROR_HEAPLIMIT)
      throw MatchLimitReached();
    return rc > 0;
  }
};

AnswerPattern::AnswerPattern(const std::string& pattern, const std::string& origin, bool ignore_case)
    : code_(new Code) {
  int error = 0;
  size_t offset = 0;
  const uint32_t flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_DOTALL | (ignore_case ? PCRE2_CASELESS : 0);
  code_->code = pcre2_compile(bytes(pattern), pattern.size(), flags, &error, &offset, nullptr);
  if (code_->code == nullptr) {
    unsigned char text[256] = {};
    pcre2_get_error_message(error, text, sizeof text);
    throw user_error("{} = {}: not a regular expression: {} at character {}; PCRE2 syntax is meant", origin, pattern,
                     reinterpret_cast<const char*>(text), offset);
  }
  pcre2_jit_compile(code_->code, PCRE2_JIT_COMPLETE);  // only speed: the interpreter serves where there is no JIT
  code_->limits = pcre2_match_context_create(nullptr);
  pcre2_set_match_limit(code_->limits, kMatchLimit);
  pcre2_set_heap_limit(code_->limits, kHeapLimitKibibytes);
  code_->data = pcre2_match_data_create_from_pattern(code_->code, nullptr);
}

AnswerPattern::~AnswerPattern() = default;
AnswerPattern::AnswerPattern(AnswerPattern&&) noexcept = default;

bool AnswerPattern::matches(std::string_view text) const {
  return code_->match(text, 0);
}

std::optional<std::vector<std::string>> AnswerPattern::last_match(std::string_view text) const {
  std::optional<std::vector<std::string>> groups;
  for (size_t start = 0; start <= text.size() && code_->match(text, start);) {
    const size_t* at = pcre2_get_ovector_pointer(code_->data);
    groups.emplace();
    for (uint32_t i = 0; i < pcre2_get_ovector_count(code_->data); ++i)
      groups->push_back(at[2 * i] == PCRE2_UNSET ? "" : std::string(text.substr(at[2 * i], at[2 * i + 1] - at[2 * i])));
    start = at[1] > start ? at[1] : start + 1;
  }
  return groups;
}

}  // namespace roll
