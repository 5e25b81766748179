#include "text/chat_template.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {

struct ChatTemplate::Parts {};

ChatTemplate ChatTemplate::load(const std::filesystem::path&, const std::string& name) {
  throw user_error("chat template '{}': not there yet", name);
}
std::string ChatTemplate::render(const Json& messages, bool add) const { return render(messages, add, Json::object()); }
std::string ChatTemplate::render(const Json&, bool, const Json&) const { return {}; }
const std::vector<std::string>& ChatTemplate::names() {
  static const std::vector<std::string> kNames{"native", "qwen2_5", "chatml", "qwen3", "llama3", "empty"};
  return kNames;
}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

}  // namespace roll
