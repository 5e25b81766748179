// Messages -> the prompt text a chat model was trained on.
//
// "native" runs the folder's own Jinja template in a small interpreter (jinja/template.h); the others are built in and
// render what the models' own templates render without tools.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

/// Immutable after loading; render may be called from several threads at once. Copies share it.
class ChatTemplate {
 public:
  /// name: native (the folder's own) | qwen2_5 (adds Qwen's default system message) | chatml | qwen3 | llama3 | empty
  /// (the contents, joined by nothing). "" means native: chat_template.jinja and additional_chat_templates/, else
  /// `chat_template` of tokenizer_config.json. Of several the one named tool_use renders where the variable `tools` is
  /// given and not null, else the one named default, as in transformers.
  /// UserError: unknown name (with the nearest), a native template that is missing, or does not parse (line).
  /// `enable_thinking`: the variable of this name, which Qwen3's templates look at; nullopt: it is not defined.
  static ChatTemplate load(const std::filesystem::path& folder, const std::string& name,
                           std::optional<bool> enable_thinking = {});

  /// The names that `load` takes.
  static const std::vector<std::string>& names();

  /// messages: [{"role": "user", "content": "..."}, ...]; content may also be a list of {"type": "text", "text":
  /// "..."}, which is joined first. As in transformers, keys that are null are left out, and `thinking` or `reasoning`
  /// is reasoning_content, too; other keys of a message reach the template as they are. `variables` of the template,
  /// e.g. {"enable_thinking": false} or {"tools": [...]}. UserError: another shape, the template's own raise_exception,
  /// a construct that fails, with the template's line, or several templates of which none is meant.
  std::string render(const Json& messages, bool add_generation_prompt, const Json& variables) const;
  std::string render(const Json& messages, bool add_generation_prompt) const;

 private:
  struct Parts;
  explicit ChatTemplate(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace roll
