// The built-in chat templates, written in the same Jinja that model folders use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roll {

/// The source of chatml, qwen2_5, qwen3, llama3 or empty; an empty view for any other name.
std::string_view builtin_template(std::string_view name);

std::vector<std::string> builtin_template_names();

}  // namespace roll
