#include "rollout/conversation.h"

#include <nlohmann/json.hpp>

#include "text/tokenizer.h"

namespace roll {

Conversation::Conversation(const Tokenizer& tokenizer, ChatTemplate chat_template,
                           const std::optional<std::string>& system)
    : tokenizer_(tokenizer), template_(std::move(chat_template)), system_(Json::array()) {
  if (system) system_.push_back({{"role", "system"}, {"content", *system}});
  reset();
}

void Conversation::reset() {
  messages_ = system_;
  known_text_.clear();
  known_ids_.clear();
}

const std::vector<int64_t>& Conversation::ask(const std::string& text) {
  pending_messages_ = messages_;
  pending_messages_.push_back({{"role", "user"}, {"content", text}});
  prompt_ = template_.render(pending_messages_, true);
  const bool continues_text = prompt_.starts_with(known_text_);
  prompt_ids_ = continues_text ? known_ids_ : std::vector<int64_t>();
  // The rendered template already contains the special tokens.
  const auto new_ids =
      tokenizer_.encode_behind(prompt_ids_, continues_text ? prompt_.substr(known_text_.size()) : prompt_);
  prompt_ids_.insert(prompt_ids_.end(), new_ids.begin(), new_ids.end());
  return prompt_ids_;
}

void Conversation::answer(const Generation& response) {
  messages_ = std::move(pending_messages_);
  messages_.push_back({{"role", "assistant"}, {"content", response.text}});
  known_text_.clear();
  known_ids_.clear();
  if (response.finish_reason == FinishReason::kStopString) return;  // the ids hold more than the cut text
  known_text_ = prompt_ + response.text;
  known_ids_ = prompt_ids_;
  const size_t end = response.ids.size() - (response.finish_reason == FinishReason::kStop ? 1 : 0);
  known_ids_.insert(known_ids_.end(), response.ids.begin(), response.ids.begin() + static_cast<int64_t>(end));
}

}  // namespace roll
