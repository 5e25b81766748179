// A small Jinja interpreter for the chat templates of model folders, rendering what Hugging Face's set-up of jinja2
// renders (trim_blocks, lstrip_blocks, loop controls, immutable sandbox; globals raise_exception and strftime_now).
//
// It knows: for (with if, else, recursion not), if, set (also of namespaces and blocks), macro, with, raw, generation,
// break, continue; all expressions; the filters, tests and methods listed in functions.h. Includes, inheritance
// and call blocks are refused when the template is read; an unknown filter, test or method fails when it is reached. No
// template can hang or exhaust memory: work, text, nesting and ranges are bounded.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "jinja/value.h"

namespace roll::jinja {

class Context;

class Template {
 public:
  /// UserError "origin:line: ..." when `source` is not a template that is supported.
  static Template parse(std::string_view source, const std::string& origin);

  /// About a second, and less than 1 GB. A thousand messages of a thousand bytes each cost some ten million.
  static constexpr size_t kMaxWork = 500'000'000;

  /// The text with these variables. UserError "origin:line: ..." for what fails, raise_exception included, and when
  /// more than `max_work` bytes pass through it (budget.h).
  std::string render(const Dict& variables, size_t max_work = kMaxWork) const;

 private:
  std::string origin_;
  std::function<void(Context&)> body_;
};

}  // namespace roll::jinja
