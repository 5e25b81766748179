// Renders chat messages into the prompt text that a model was trained on. "native" runs the model folder's Jinja
// template (jinja/template.h). Built-in templates render like the models' own ones without tools.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Immutable after loading; render() is thread-safe. Copies share the data.
class ChatTemplate {
 public:
  /// Loads native (the folder's own) | qwen2_5 (adds Qwen's default system message) | chatml | qwen3 | llama3 | empty
  /// (contents only, concatenated); "" means native. Sources of native: chat_template.jinja and
  /// additional_chat_templates/, else `chat_template` of tokenizer_config.json. Like transformers, picks the template
  /// tool_use if the variable `tools` is set, else default. `enable_thinking`: variable of Qwen3's templates; nullopt
  /// leaves it undefined. UserError: unknown name (suggests the nearest), missing native template, or a syntax error
  /// (with line).
  static ChatTemplate load(const std::filesystem::path& folder, const std::string& name,
                           std::optional<bool> enable_thinking = {});

  /// Returns the names that load() accepts.
  static const std::vector<std::string>& names();

  /// Renders messages: [{"role": "user", "content": "..."}, ...]. content may be a list of {"type": "text", "text":
  /// "..."}, which is joined. Like transformers, drops null keys and accepts `thinking` or `reasoning` as
  /// reasoning_content; other keys reach the template unchanged. `variables`: template variables, e.g.
  /// {"enable_thinking": false} or {"tools": [...]}. UserError: malformed messages, the template's raise_exception or a
  /// failing construct (with line), or only a tool_use template without tools.
  std::string render(const Json& messages, bool add_generation_prompt, const Json& variables) const;
  std::string render(const Json& messages, bool add_generation_prompt) const;

 private:
  struct Parts;
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace roll
