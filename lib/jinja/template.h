// Small Jinja interpreter for the chat templates of model folders. Renders like Hugging Face's jinja2 (trim_blocks,
// lstrip_blocks, loop controls, immutable sandbox; globals raise_exception and strftime_now).
//
// Supports the statements for (with if and else, without recursion), if, set (also of namespace members and blocks),
// macro, with, raw, generation, break and continue. Supports all expressions, and the filters, tests and methods in
// functions.h. Refuses includes, inheritance and call blocks when parsing; unknown filters, tests and methods fail when
// reached. No template can hang or exhaust memory: work, text, nesting and ranges are bounded.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "jinja/value.h"

namespace roll::jinja {

class Context;

/// A compiled template; render() is thread-safe.
class Template {
 public:
  /// Compiles `source`. `origin` is its name in messages. Throws UserError "ORIGIN:LINE: ..." for a syntax error, and
  /// for a feature that is not supported. Throws UserError "ORIGIN: ..." if `source` is not UTF-8 or is longer than 1
  /// MiB.
  static Template parse(std::string_view source, const std::string& origin);

  /// Default limit of work (budget.h): about one second and less than 1 GB of memory. Rendering a thousand messages of
  /// a thousand bytes each costs about ten million.
  static constexpr size_t kMaxWork = 500'000'000;

  /// Returns the rendered text. Throws UserError "ORIGIN:LINE: ..." for an error in the template, if the template calls
  /// raise_exception, and if it needs more than `max_work` bytes of work.
  std::string render(const Dict& variables, size_t max_work = kMaxWork) const;

 private:
  std::string origin_;
  std::function<void(Context&)> body_;
};

}  // namespace roll::jinja
