#include "base/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <limits>

#include "base/clock.h"
#include "base/utf8.h"

namespace roll {

namespace {

constexpr size_t kJitStackStart = 32 << 10, kJitStackLimit = 64 << 20;
constexpr uint32_t kHeapLimitKibibytes = 64 * 1024;  // for the interpreter, without a JIT
constexpr int kCalloutsPerClockRead = 64;

template <auto free_function>
struct Deleter {
  template <class T>
  void operator()(T* p) const {
    free_function(p);
  }
};
using MatchData = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using CompileContext = std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Deleter<pcre2_jit_stack_free>>;

PCRE2_SPTR bytes(std::string_view s) {
  return reinterpret_cast<PCRE2_SPTR>(s.data());
}

std::string error_message(int code) {
  if (code == PCRE2_ERROR_CALLOUT) return "time limit exceeded";
  unsigned char text[256] = {};
  pcre2_get_error_message(code, text, sizeof(text));
  return reinterpret_cast<const char*>(text);
}

uint32_t compile_flags(const RegexOptions& options) {
  uint32_t flags = PCRE2_UTF;
  if (options.multiline) flags |= PCRE2_MULTILINE;
  if (options.dot_all) flags |= PCRE2_DOTALL;
  if (options.ignore_case) flags |= PCRE2_CASELESS;
  if (options.unicode_classes) flags |= PCRE2_UCP;
  if (options.literal) flags |= PCRE2_LITERAL;
  if (options.timed) flags |= PCRE2_AUTO_CALLOUT;  // a callout before each item can stop the match
  return flags;
}

}  // namespace

struct MatchMemory::Parts {
  explicit Parts(size_t num_groups) : data(pcre2_match_data_create(static_cast<uint32_t>(num_groups) + 1, nullptr)) {}

  static int stop_when_late(pcre2_callout_block*, void* self) {
    auto& parts = *static_cast<Parts*>(self);
    if (++parts.num_callouts % kCalloutsPerClockRead != 0) return 0;
    return monotonic_s() > parts.end_s ? PCRE2_ERROR_CALLOUT : 0;
  }

  MatchData data;
  MatchContext context{pcre2_match_context_create(nullptr)};
  JitStack stack{pcre2_jit_stack_create(kJitStackStart, kJitStackLimit, nullptr)};
  double end_s = std::numeric_limits<double>::infinity();
  int64_t num_callouts = 0;
};

MatchMemory::MatchMemory(size_t num_groups) : parts_(std::make_unique<Parts>(num_groups)) {
  pcre2_match_context* context = parts_->context.get();
  pcre2_jit_stack_assign(context, nullptr, parts_->stack.get());
  pcre2_set_heap_limit(context, kHeapLimitKibibytes);
  pcre2_set_callout(context, Parts::stop_when_late, parts_.get());
}
MatchMemory::MatchMemory(MatchMemory&&) noexcept = default;
MatchMemory& MatchMemory::operator=(MatchMemory&&) noexcept = default;
MatchMemory::~MatchMemory() = default;

void MatchMemory::limit_time(double seconds) {
  parts_->end_s = monotonic_s() + seconds;
}

std::optional<Span> MatchMemory::group(size_t i) const {
  const size_t* bounds = pcre2_get_ovector_pointer(parts_->data.get());
  const bool set = i < pcre2_get_ovector_count(parts_->data.get()) && bounds[2 * i] != PCRE2_UNSET;
  return set ? std::optional(Span{bounds[2 * i], bounds[2 * i + 1]}) : std::nullopt;
}

struct Regex::Code {
  std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>> compiled;

  /// begin is npos without a match: a Span is returned in registers, which matters for the tokenizer's speed.
  Span find(std::string_view text, size_t from, MatchMemory::Parts& memory) const {
    const int found = pcre2_match(compiled.get(), bytes(text), text.size(), from, PCRE2_NO_UTF_CHECK, memory.data.get(),
                                  memory.context.get());
    if (found == PCRE2_ERROR_NOMATCH) return {std::string_view::npos, 0};
    if (found < 0) throw MatchFailed(error_message(found));
    const size_t* bounds = pcre2_get_ovector_pointer(memory.data.get());
    return {bounds[0], bounds[1]};
  }
};

Regex::Regex(std::string_view expression, const RegexOptions& options) {
  const CompileContext context(pcre2_compile_context_create(nullptr));
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  int error = 0;
  size_t offset = 0;
  const auto code = std::make_shared<Code>();
  code->compiled.reset(
      pcre2_compile(bytes(expression), expression.size(), compile_flags(options), &error, &offset, context.get()));
  if (!code->compiled) throw RegexError(error_message(error), offset);
  pcre2_jit_compile(code->compiled.get(), PCRE2_JIT_COMPLETE);  // without a JIT, pcre2_match interprets
  code_ = code;
}

size_t Regex::num_groups() const {
  uint32_t count = 0;
  pcre2_pattern_info(code_->compiled.get(), PCRE2_INFO_CAPTURECOUNT, &count);
  return count;
}

std::optional<Span> Regex::find(std::string_view text, size_t from, MatchMemory& memory) const {
  const Span match = code_->find(text, from, *memory.parts_);
  return match.begin == std::string_view::npos ? std::nullopt : std::optional(match);
}

void Regex::find_all(std::string_view text, MatchMemory& memory, std::vector<Span>& matches) const {
  size_t last_end = std::string_view::npos;
  for (size_t from = 0; from <= text.size();) {
    const Span match = code_->find(text, from, *memory.parts_);
    if (match.begin == std::string_view::npos) return;
    from = match.end;
    if (match.begin != match.end || match.end != last_end) {
      last_end = match.end;
      matches.push_back(match);
      continue;
    }
    from = from < text.size() ? next_character(text, from + 1) : from + 1;
  }
}

}  // namespace roll
