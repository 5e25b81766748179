#include "base/chat_message.h"

#include <nlohmann/json.hpp>

#include "base/json_object.h"

namespace roll {

Json template_message(const Json& message) {
  Json out = Json::object();
  for (const auto& [key, value] : message.items())
    if (!value.is_null()) add_new(out, key, value);
  for (const char* key : kReasoningKeys) {
    if (!out.contains(key)) continue;
    const Json reasoning = out[key];
    if (!out.contains("thinking")) add_new(out, "thinking", reasoning);
    out["reasoning_content"] = reasoning;
    break;
  }
  return out;
}

}  // namespace roll
