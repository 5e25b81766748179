#include "base/chat_message.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_object.h"

namespace roll {

namespace {

bool has_value(const Json& message, const char* key) {
  const auto found = message.find(key);
  return found != message.end() && !found->is_null();
}

}  // namespace

Json template_message(const Json& message) {
  const auto* const key =
      std::ranges::find_if(kReasoningKeys, [&](const char* name) { return has_value(message, name); });
  const bool has_reasoning = key != kReasoningKeys.end();
  Json out = Json::object();
  if (has_reasoning) add_new(out, "thinking", message[has_value(message, "thinking") ? "thinking" : *key]);
  for (const auto& [name, value] : message.items())
    if (!value.is_null() && !(has_reasoning && name == "thinking")) add_new(out, name, value);
  if (has_reasoning) out["reasoning_content"] = message[*key];
  return out;
}

}  // namespace roll
