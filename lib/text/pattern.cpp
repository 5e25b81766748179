#include "text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "text/pattern_syntax.h"
#include "text/unicode.h"

namespace roll {

namespace {

constexpr size_t kJitStackStart = 32 * 1024, kJitStackLimit = 64 * 1024 * 1024;

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* p) const {
    free_function(p);
  }
};
using Code = std::unique_ptr<pcre2_code, Free<pcre2_code_free>>;
using MatchData = std::unique_ptr<pcre2_match_data, Free<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Free<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Free<pcre2_compile_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Free<pcre2_jit_stack_free>>;

std::string pcre2_message(int code) {
  unsigned char text[256];
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

Code compile(const std::string& expression, std::string_view as_written, const std::string& where) {
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  size_t offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(expression.data()), expression.size(),
                          PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &offset, context.get()));
  if (!code) throw user_error("{}: regular expression '{}': {}; repair it", where, as_written, pcre2_message(error));
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);  // without a JIT on this machine pcre2_match interprets
  return code;
}

}  // namespace

struct MatchMemory::Parts {
  MatchData data{pcre2_match_data_create(1, nullptr)};
  MatchContext context{pcre2_match_context_create(nullptr)};
  JitStack stack{pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr)};
};

MatchMemory::MatchMemory() : parts_(std::make_unique<Parts>()) {
  pcre2_jit_stack_assign(parts_->context.get(), nullptr, parts_->stack.get());
}
MatchMemory::MatchMemory(MatchMemory&&) noexcept = default;
MatchMemory& MatchMemory::operator=(MatchMemory&&) noexcept = default;
MatchMemory::~MatchMemory() = default;

struct Pattern::Parts {
  std::string literal;
  Code code;  // empty: a literal
  std::string name;

  /// The next match at or after `from`, or npos.
  Span find(std::string_view text, size_t from, MatchMemory::Parts& memory) const {
    if (!code) {
      const size_t at = text.find(literal, from);
      return {at, at + literal.size()};
    }
    const int found = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                                  PCRE2_NO_UTF_CHECK, memory.data.get(), memory.context.get());
    if (found == PCRE2_ERROR_NOMATCH) return {std::string_view::npos, 0};
    if (found < 0) throw user_error("{} fails on a text of {} bytes: {}", name, text.size(), pcre2_message(found));
    const size_t* bounds = pcre2_get_ovector_pointer(memory.data.get());
    return {bounds[0], bounds[1]};
  }
};

Pattern::Pattern(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Pattern Pattern::literal(std::string text) {
  auto parts = std::make_unique<Parts>();
  parts->literal = std::move(text);
  return Pattern(std::move(parts));
}

Pattern Pattern::regex(std::string_view expression, const std::string& where) {
  auto parts = std::make_unique<Parts>();
  parts->name = fmt::format("{}: regular expression '{}'", where, expression);
  parts->code = compile(translate_pattern(expression, where), expression, where);
  return Pattern(std::move(parts));
}

bool Pattern::is_literal() const {
  return !parts_->code;
}

void Pattern::find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const {
  size_t last_end = std::string_view::npos;
  for (size_t from = 0; from <= text.size();) {
    const Span match = parts_->find(text, from, *memory.parts_);
    if (match.begin == std::string_view::npos) return;
    from = match.end;
    if (match.begin == match.end && match.end == last_end) {
      if (from == text.size()) return;
      next_code_point(text, from);
      continue;
    }
    last_end = match.end;
    matches.push_back(match);
  }
}

Pattern read_pattern(const JsonView& json) {
  if (const auto regex = json.get("Regex")) return Pattern::regex(regex->string(), regex->where());
  if (const auto text = json.get("String")) return Pattern::literal(text->string());
  json.fail("must be {\"Regex\": ...} or {\"String\": ...}");
}

}  // namespace roll
