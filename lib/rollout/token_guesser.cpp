#include "rollout/token_guesser.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace roll {

namespace {

constexpr int64_t kGram = 3;           // tokens that must repeat before a guess
constexpr int64_t kMostPlaces = 24;    // places that a search compares
constexpr int64_t kMostCompared = 64;  // tokens that a search compares at a place
constexpr double kAssumed = 4;         // weight of the rates assumed before measurements, in tokens
constexpr double kMemory = 0.99;       // weight of the past at each new measurement

uint64_t mixed(uint64_t key, int64_t token) {
  key = (key ^ static_cast<uint64_t>(token + 1)) * 0x9E3779B97F4A7C15U;
  return key ^ (key >> 29);
}

}  // namespace

void TokenGuesser::Rate::add(bool is_right) {
  right = right * kMemory + (is_right ? 1 : 0);
  tried = tried * kMemory + 1;
}

/// Returns the index of the rate of matches of this length: each short length has its own.
size_t TokenGuesser::rate_index(int64_t length) {
  const auto magnitude = static_cast<size_t>(std::bit_width(static_cast<uint64_t>(length) / 8));
  return std::min(kNumRates - 1, static_cast<size_t>(std::min<int64_t>(length, 7)) + magnitude);
}

/// Returns the token `back` tokens before the place (1: the last one before it); -1 before the prompt's beginning. A
/// response's text continues backwards in the prompt.
int64_t TokenGuesser::token_at(const Texts& texts, Place place, int64_t back) {
  int64_t index = place.next - back;
  size_t text = place.text;
  if (index < 0 && text > 0) {
    text = 0;
    index += std::ssize(texts.tokens[0]);
  }
  return index < 0 ? -1 : texts.tokens[text][index];
}

/// Returns true if a token lies behind the place.
bool TokenGuesser::has_next(const Texts& texts, Place place) {
  return place.next >= 0 && place.next < std::ssize(texts.tokens[place.text]);
}

/// Returns the key of the kGram tokens before the place; nullopt if there are fewer.
std::optional<uint64_t> TokenGuesser::gram_key(const Texts& texts, Place place) {
  if (token_at(texts, place, kGram) < 0) return std::nullopt;
  uint64_t key = 0;
  for (int64_t back = 1; back <= kGram; ++back) key = mixed(key, token_at(texts, place, back));
  return key;
}

/// Before measurements, the longer a repetition, the likelier it goes on.
TokenGuesser::TokenGuesser(int64_t max_tokens) : max_tokens_(max_tokens) {
  for (int64_t length = 0; length < kMostCompared; ++length) {
    const auto x = static_cast<double>(length);
    rates_[rate_index(length)] = {.right = kAssumed * x / (x + 6), .tried = kAssumed};
  }
}

TokenGuesser::Response TokenGuesser::begin(std::span<const int64_t> prompt, std::span<const int64_t> drawn) {
  Running running{.texts = texts_for(prompt), .text = 0, .match = {}, .length = 0};
  Texts& texts = *running.texts;
  running.text = static_cast<int32_t>(texts.tokens.size());
  texts.tokens.emplace_back();
  texts.earlier.emplace_back();
  for (const int64_t token : drawn) append(texts, running.text, token);
  find_match(running);
  running_[++last_response_] = std::move(running);
  return last_response_;
}

std::shared_ptr<TokenGuesser::Texts> TokenGuesser::texts_for(std::span<const int64_t> prompt) {
  uint64_t key = 0;
  for (const int64_t token : prompt) key = mixed(key, token);
  const auto known = std::ranges::find(prompts_, key, [](const auto& texts) { return texts->prompt_key; });
  if (known != prompts_.end()) {
    prompts_.splice(prompts_.end(), prompts_, known);
    return prompts_.back();
  }
  forget_oldest();
  prompts_.push_back(std::make_shared<Texts>());
  Texts& texts = *prompts_.back();
  texts.prompt_key = key;
  texts.tokens.emplace_back();
  texts.earlier.emplace_back();
  for (const int64_t token : prompt) append(texts, 0, token);
  return prompts_.back();
}

/// Forgets prompts until half of the tokens are free. Running responses keep theirs.
void TokenGuesser::forget_oldest() {
  if (num_tokens_ < max_tokens_) return;
  num_tokens_ = 0;  // counted anew: forgotten prompts may have grown while responses to them ran
  for (const auto& texts : prompts_) num_tokens_ += texts->num_tokens;
  while (!prompts_.empty() && num_tokens_ > max_tokens_ / 2) {
    num_tokens_ -= prompts_.front()->num_tokens;
    prompts_.pop_front();
  }
}

/// Appends a token to a text and, while there is room, makes its place searchable.
void TokenGuesser::append(Texts& texts, int32_t text, int64_t token) {
  texts.tokens[text].push_back(static_cast<int32_t>(token));
  const Place place{.text = text, .next = static_cast<int32_t>(texts.tokens[text].size())};
  texts.earlier[text].emplace_back();
  const auto key = gram_key(texts, place);
  if (num_tokens_ >= max_tokens_ || !key) return;
  ++num_tokens_;
  ++texts.num_tokens;
  texts.earlier[text].back() = std::exchange(texts.last[*key], place);
}

void TokenGuesser::add(Response response, int64_t token) {
  Running& running = running_.at(response);
  Texts& texts = *running.texts;
  bool is_right = false;
  if (has_next(texts, running.match)) {
    is_right = texts.tokens[running.match.text][running.match.next] == token;
    rates_[rate_index(running.length)].add(is_right);
    ++running.match.next;
    running.length += is_right ? 1 : 0;
  }
  append(texts, running.text, token);
  if (is_right && has_next(texts, running.match)) return;
  // A text often goes on as before behind a token that differs: a renamed variable, another number.
  const Place behind_change = running.length > 0 && has_next(texts, running.match) ? running.match : Place{};
  find_match(running);
  if (running.match.next < 0) running.match = behind_change;
}

/// Sets the match to the place behind the longest repetition of the response's last tokens; the latest of equal ones.
void TokenGuesser::find_match(Running& running) const {
  running.match = {};
  running.length = 0;
  const Texts& texts = *running.texts;
  const Place end{.text = running.text, .next = static_cast<int32_t>(texts.tokens[running.text].size())};
  const auto key = gram_key(texts, end);
  const auto found = key ? texts.last.find(*key) : texts.last.end();
  Place place = found == texts.last.end() ? Place{} : found->second;
  for (int64_t i = 0; i < kMostPlaces && place.next >= 0; ++i) {
    int64_t length = 0;
    while (length < kMostCompared && token_at(texts, place, length + 1) >= 0 &&
           token_at(texts, place, length + 1) == token_at(texts, end, length + 1))
      ++length;
    if (has_next(texts, place) && length >= kGram && length > running.length) {
      running.match = place;
      running.length = length;
    }
    place = place.next > 0 ? texts.earlier[place.text][place.next - 1] : Place{};
  }
}

std::vector<int64_t> TokenGuesser::guess(Response response, int64_t count, double least_probability) const {
  const Running& running = running_.at(response);
  std::vector<int64_t> guesses;
  if (running.match.next < 0) return guesses;
  const auto& tokens = running.texts->tokens[running.match.text];
  double probability = 1;
  for (int64_t i = running.match.next; i < std::ssize(tokens) && std::ssize(guesses) < count; ++i) {
    probability *= rates_[rate_index(running.length + std::ssize(guesses))].value();
    if (probability < least_probability) break;
    guesses.push_back(tokens[i]);
  }
  return guesses;
}

}  // namespace roll
