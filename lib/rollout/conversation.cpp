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
  known_.clear();
  known_ids_.clear();
}

const std::vector<int64_t>& Conversation::ask(const std::string& text) {
  asked_ = messages_;
  asked_.push_back({{"role", "user"}, {"content", text}});
  prompt_ = template_.render(asked_, true);
  const bool goes_on = prompt_.starts_with(known_);
  prompt_ids_ = goes_on ? known_ids_ : std::vector<int64_t>();
  // The rendered template already contains the special tokens.
  const auto fresh = tokenizer_.encode_behind(prompt_ids_, goes_on ? prompt_.substr(known_.size()) : prompt_);
  prompt_ids_.insert(prompt_ids_.end(), fresh.begin(), fresh.end());
  return prompt_ids_;
}

void Conversation::answer(const Generation& response) {
  messages_ = std::move(asked_);
  messages_.push_back({{"role", "assistant"}, {"content", response.text}});
  known_.clear();
  known_ids_.clear();
  if (response.finish_reason == FinishReason::kStopString) return;  // the ids hold more than the cut text
  known_ = prompt_ + response.text;
  known_ids_ = prompt_ids_;
  const size_t end = response.ids.size() - (response.finish_reason == FinishReason::kStop ? 1 : 0);
  known_ids_.insert(known_ids_.end(), response.ids.begin(), response.ids.begin() + static_cast<int64_t>(end));
}

}  // namespace roll
