// The three kinds of error. Library code only throws them; app/main.cpp alone turns them into exit codes.
//   UserError    (exit 2)   the user's flag, YAML, data or model folder is wrong; message: "file:line: key = value:
//                           rule; what to do"
//   SystemError  (exit 1)   CUDA, NCCL, MPI, the disk or a child process failed
//   Bug          (exit 70)  a programming error: an invariant of our own code does not hold; the message gives the
//                           place in the source
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace roll {

struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct SystemError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Bug : std::logic_error {
  using std::logic_error::logic_error;
};

/// These two return an error whose message is formatted by fmt; the caller throws it: throw user_error("{}:{}: ...",
/// file, line).
template <class... A>
UserError user_error(fmt::format_string<A...> format, A&&... args) {
  return UserError(fmt::format(format, std::forward<A>(args)...));
}

template <class... A>
SystemError system_error(fmt::format_string<A...> format, A&&... args) {
  return SystemError(fmt::format(format, std::forward<A>(args)...));
}

/// Returns the current errno in words with a leading blank, " (No such file or directory)", for the end of a message.
std::string errno_text();

/// Throws Bug; `file` and `line` are the place in our source. Used by the macros below.
[[noreturn]] void throw_bug(const char* file, int line, const std::string& message);

}  // namespace roll

/// Checks an invariant of our own code, in release builds too: throws Bug if `condition` is false. `why` (text) says
/// why the condition must be true.
#define ROLL_CHECK(condition, why)                                                                                 \
  do {                                                                                                             \
    if (!(condition)) ::roll::throw_bug(__FILE__, __LINE__, fmt::format("{} does not hold: {}", #condition, why)); \
  } while (false)

/// Like ROLL_CHECK(a == b, why); the message shows both values, which fmt must be able to format.
#define ROLL_CHECK_EQ(a, b, why)                                                                          \
  do {                                                                                                    \
    const auto& roll_check_a = (a);                                                                       \
    const auto& roll_check_b = (b);                                                                       \
    if (!(roll_check_a == roll_check_b))                                                                  \
      ::roll::throw_bug(__FILE__, __LINE__,                                                               \
                        fmt::format("{} = {} but {} = {}: {}", #a, roll_check_a, #b, roll_check_b, why)); \
  } while (false)
