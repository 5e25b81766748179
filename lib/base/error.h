// The three kinds of error. Library code only throws them; app/main.cpp alone turns them into exit codes.
//   UserError    (exit 2)   the user's flag, YAML, data or model folder: "file:line: key = value: rule; what to do"
//   SystemError  (exit 1)   CUDA, NCCL, MPI, disk, a child process
//   Bug          (exit 70)  an invariant of our code does not hold: both values and the place
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

/// Formats with fmt: throw user_error("{}:{}: ...", file, line).
template <class... A>
UserError user_error(fmt::format_string<A...> format, A&&... args) {
  return UserError(fmt::format(format, std::forward<A>(args)...));
}

template <class... A>
SystemError system_error(fmt::format_string<A...> format, A&&... args) {
  return SystemError(fmt::format(format, std::forward<A>(args)...));
}

/// Returns " (strerror text)" for the current errno, for SystemError messages.
std::string errno_text();

[[noreturn]] void throw_bug(const char* file, int line, const std::string& message);

}  // namespace roll

/// Checks an invariant of our own code. The message says why it must hold.
#define ROLL_CHECK(condition, why)                                                                                 \
  do {                                                                                                             \
    if (!(condition)) ::roll::throw_bug(__FILE__, __LINE__, fmt::format("{} does not hold: {}", #condition, why)); \
  } while (false)

#define ROLL_CHECK_EQ(a, b, why)                                                                          \
  do {                                                                                                    \
    const auto& roll_check_a = (a);                                                                       \
    const auto& roll_check_b = (b);                                                                       \
    if (!(roll_check_a == roll_check_b))                                                                  \
      ::roll::throw_bug(__FILE__, __LINE__,                                                               \
                        fmt::format("{} = {} but {} = {}: {}", #a, roll_check_a, #b, roll_check_b, why)); \
  } while (false)
