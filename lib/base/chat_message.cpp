#include "base/chat_message.h"

#include <nlohmann/json.hpp>

namespace roll {

Json template_message(const Json& message) {
  Json out = Json::object();
  for (const auto& [key, value] : message.items())
    if (!value.is_null()) out[key] = value;
  for (const char* key : kReasoningKeys) {
    if (!out.contains(key)) continue;
    Json with_reasoning{{"thinking", out[key]}};
    with_reasoning.update(out);
    with_reasoning["reasoning_content"] = out[key];
    return with_reasoning;
  }
  return out;
}

}  // namespace roll
