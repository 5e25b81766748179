// Guesses the next tokens of responses from earlier text, for the scheduler's speculative decoding: one step computes
// the guesses beside the last token, and those that equal the tokens drawn are kept. A guess saves or costs time; it
// never changes a response.
//
// A guess continues the place where the last tokens of a response occurred before: in its prompt, in itself, or in
// another response to the same prompt (as in suffix decoding); or it continues behind the one token that changed there.
// How often such guesses are right is measured for each
// length of the repeated text, on every token, whether or not a step computes guesses.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace roll {

/// Keeps responses, also ended ones, grouped by prompt. Forgets the prompts that were used longest ago. For one thread
/// at a time.
class TokenGuesser {
 public:
  /// `max_tokens`: most tokens to search; about 60 bytes each.
  explicit TokenGuesser(int64_t max_tokens = int64_t{1} << 20);

  /// Identifies a running response.
  using Response = int64_t;
  /// Starts a response to `prompt`; `drawn` are the tokens that it has already.
  Response begin(std::span<const int64_t> prompt, std::span<const int64_t> drawn);
  /// Appends a token to a running response.
  void add(Response response, int64_t token);
  /// Ends a response. Its tokens stay.
  void end(Response response) { running_.erase(response); }
  /// Returns at most `count` guesses of the response's next tokens; fewer, or none, where the probability that all of
  /// them are right would fall below `least_probability`.
  std::vector<int64_t> guess(Response response, int64_t count, double least_probability) const;

 private:
  /// A place between two tokens of a prompt's texts.
  struct Place {
    int32_t text = 0, next = -1;  // index of the text; index in it of the token behind the place; -1: no place
  };
  /// A prompt and the responses to it.
  struct Texts {
    uint64_t prompt_key = 0;
    int64_t num_tokens = 0;                    // searchable ones
    std::vector<std::vector<int32_t>> tokens;  // [0]: the prompt; then the responses
    std::vector<std::vector<Place>> earlier;   // for each token, the previous place behind the same kGram tokens
    std::unordered_map<uint64_t, Place> last;  // key of kGram tokens -> last place behind them
  };
  struct Running {
    std::shared_ptr<Texts> texts;
    int32_t text = 0;
    Place match;  // the place whose next tokens are the guesses
    int64_t length =
        0;  // tokens before `match` that equal the response's last ones, as far as compared; 0: one differs
  };
  /// Moving share of right guesses.
  struct Rate {
    double right = 0, tried = 0;
    void add(bool is_right);
    double value() const { return right / tried; }
  };
  static constexpr size_t kNumRates = 12;

  static int64_t token_at(const Texts& texts, Place place, int64_t back);
  static bool has_next(const Texts& texts, Place place);
  static std::optional<uint64_t> gram_key(const Texts& texts, Place place);
  static size_t rate_index(int64_t length);
  std::shared_ptr<Texts> texts_for(std::span<const int64_t> prompt);
  void forget_oldest();
  void append(Texts& texts, int32_t text, int64_t token);
  void find_match(Running& running) const;

  int64_t max_tokens_, num_tokens_ = 0;
  Response last_response_ = 0;
  std::list<std::shared_ptr<Texts>> prompts_;  // least recently used first
  std::unordered_map<Response, Running> running_;
  std::array<Rate, kNumRates> rates_;
};

}  // namespace roll
