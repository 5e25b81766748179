// The built-in chat templates, in the Jinja syntax of model folders. Used by chat_template.h and tiny_tokenizer.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// Returns the source of the template called "chatml", "qwen2_5", "qwen3", "llama3" or "empty"; "" for any other name.
std::string_view builtin_template(std::string_view name);

/// Returns the names of all built-in templates.
std::vector<std::string> builtin_template_names();

}  // namespace roll
