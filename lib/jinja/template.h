// Small Jinja interpreter for the chat templates of model folders. Renders like Hugging Face's jinja2 (trim_blocks,
// lstrip_blocks, loop controls, immutable sandbox; globals raise_exception and strftime_now).
//
// Supports for (with if and else, without recursion), if, set (also of namespaces and blocks), macro, with, raw,
// generation, break, continue; all expressions; the filters, tests and methods in functions.h. Refuses includes,
// inheritance and call blocks when parsing; unknown filters, tests and methods fail when reached. No template can hang
// or exhaust memory: work, text, nesting and ranges are bounded.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "jinja/value.h"

namespace roll::jinja {

class Context;

class Template {
 public:
  /// Compiles `source`. UserError "origin:line: ...": a syntax error, or a feature that is not supported.
  static Template parse(std::string_view source, const std::string& origin);

  /// About one second and less than 1 GB. A thousand messages of a thousand bytes each cost about ten million.
  static constexpr size_t kMaxWork = 500'000'000;

  /// Returns the rendered text. UserError "origin:line: ...": an error in the template, raise_exception, or more than
  /// `max_work` bytes of work (budget.h).
  std::string render(const Dict& variables, size_t max_work = kMaxWork) const;

 private:
  std::string origin_;
  std::function<void(Context&)> body_;
};

}  // namespace roll::jinja
