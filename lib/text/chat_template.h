// Renders chat messages into the prompt text that a model was trained on. The template "native" is the model folder's
// own Jinja template, run by jinja/template.h. Built-in templates render like those models' own ones, but without
// tools.
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
  /// Loads the template called `name`: native, qwen2_5 (adds Qwen's default system message), chatml, qwen3, llama3 or
  /// empty (contents only, concatenated); "" means native. native is read from the model folder `folder`:
  /// chat_template.jinja and additional_chat_templates/, else `chat_template` of tokenizer_config.json. The folder's
  /// special tokens become template variables (bos_token, ...). `enable_thinking` is a variable of Qwen3's templates;
  /// nullopt leaves it undefined. Throws UserError for an unknown name (suggests the nearest), a missing native
  /// template, and a syntax error (with line).
  static ChatTemplate load(const std::filesystem::path& folder, const std::string& name,
                           std::optional<bool> enable_thinking = {});

  /// Returns the names that load() accepts.
  static const std::vector<std::string>& names();

  /// Returns the text of `messages`: [{"role": "user", "content": "..."}, ...], not empty. A content may be a list of
  /// {"type": "text", "text": "..."}, whose texts are joined. Like transformers, drops null keys, and accepts
  /// `thinking` or `reasoning` as reasoning_content. If the variable `tools` is set and there is a template tool_use,
  /// that is used, else the template default. Other keys reach the template unchanged. If `add_generation_prompt`, ends
  /// with the beginning of an assistant's message. `variables`: more template variables, e.g. {"enable_thinking":
  /// false} or {"tools": [...]}. Throws UserError for malformed messages, the template's raise_exception, an error in
  /// the template (with line), and if the only template is tool_use but there are no tools.
  std::string render(const Json& messages, bool add_generation_prompt, const Json& variables) const;
  /// Does the same without more variables.
  std::string render(const Json& messages, bool add_generation_prompt) const;

 private:
  struct Parts;
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace roll
