// Speculative decoding: guesses change the number of steps, never a response.
#include <algorithm>
#include <catch2/catch.hpp>

#include "rollout/fake_model.h"
#include "rollout/requests.h"
#include "rollout/step_times.h"
#include "rollout/token_guesser.h"

namespace roll {

namespace {

/// Logits that depend on the last `memory` tokens only, so that text repeats.
class RepeatingModel : public FakeModel {
 public:
  RepeatingModel(const FakeSizes& sizes, int64_t memory, Communicator* ranks = nullptr)
      : FakeModel(sizes, ranks), memory_(memory) {}
  std::vector<float> row_after(const std::vector<int64_t>& ids) const override {
    const auto begin = ids.end() - std::min<int64_t>(memory_, std::ssize(ids));
    std::vector<float> row = FakeModel::row_after({begin, ids.end()});
    row[0] -= 2;  // ends rarely
    for (float& logit : row) logit *= 2;
    return row;
  }

 private:
  int64_t memory_;
};

/// Allows all tokens until the end token; behind it, it must not be asked.
class EndsOnce : public TokenConstraint {
 public:
  std::unique_ptr<ConstraintState> begin() const override {
    struct State : ConstraintState {
      bool has_ended = false;
      std::vector<uint32_t> all{~uint32_t{0}};
      void accept(int64_t token) override { has_ended = token == 0; }
      std::span<const uint32_t> allowed() override {
        if (has_ended) throw SystemError("a token was drawn behind the end token");
        return all;
      }
    };
    return std::make_unique<State>();
  }
  size_t num_bytes() const override { return 0; }
};

SamplingParams guessing(SamplingParams params) {
  params.guesser = std::make_shared<TokenGuesser>();
  return params;
}

}  // namespace

TEST_CASE("guesses change no response, whatever its settings and wherever it is evicted", "[rollout]") {
  SamplingParams params = params_of(40);
  params.max_running_requests = 400;
  params.generating.temperature = GENERATE(0.0, 1.0);
  params.ignore_eos = GENERATE(false, true);
  switch (GENERATE(0, 1, 2)) {
    case 1:
      params.generating.repetition_penalty = 1.2;
      params.generating.presence_penalty = 0.3;
      params.generating.top_k = 5;
      break;
    case 2:
      params.generating.top_p = 0.8;
      params.generating.stop_strings = {"ab", "cde"};
      break;
    default:
      break;
  }
  const auto [num_slots, num_pages, max_rows] =
      GENERATE(table<int64_t, int64_t, int64_t>({{1, 0, 8192}, {3, 0, 5}, {8, 14, 20}, {64, 40, 8192}}));
  const FakeSizes sizes{.num_slots = num_slots,
                        .max_length = 52,
                        .vocab_size = kVocab,
                        .num_pages = num_pages,
                        .max_rows = max_rows,
                        .takes_guesses = true};
  const auto requests = make_requests(10, 4);
  RepeatingModel plain(sizes, 2), model(sizes, 2);
  const auto expected = generate_with(plain, requests, params);
  SamplerCounts counts;
  const auto found = generate_with(model, requests, guessing(params), {}, {.counts = &counts});
  CAPTURE(num_slots, num_pages, max_rows);
  for (size_t i = 0; i < requests.size(); ++i) {
    CAPTURE(i);
    REQUIRE(found[i].ids == expected[i].ids);
    REQUIRE(found[i].log_probs == expected[i].log_probs);
    REQUIRE(found[i].processed_log_probs == expected[i].processed_log_probs);
    REQUIRE(found[i].finish_reason == expected[i].finish_reason);
    REQUIRE(found[i].text == expected[i].text);
  }
  CHECK(counts.guessed > 0);
  CHECK(counts.guessed_right > 0);
  CHECK(counts.guessed_right <= counts.guessed);
  CHECK(model.largest_step <= max_rows);
}

TEST_CASE("a text that repeats takes far fewer steps", "[rollout]") {
  SamplingParams params = params_of(200);
  params.ignore_eos = true;
  params.generating.temperature = 0;
  const FakeSizes sizes{.num_slots = 1, .max_length = 256, .vocab_size = kVocab, .takes_guesses = true};
  RepeatingModel plain(sizes, 2), model(sizes, 2);
  const auto requests = make_requests(1, 1);
  CHECK(generate_with(plain, requests, params)[0].ids == generate_with(model, requests, guessing(params))[0].ids);
  CHECK(model.num_steps * 3 < plain.num_steps);
}

TEST_CASE("a guesser that serves several calls guesses from earlier responses to the prompt", "[rollout]") {
  SamplingParams params = guessing(params_of(60));
  params.ignore_eos = true;
  params.generating.temperature = 0;
  const FakeSizes sizes{.num_slots = 1, .max_length = 80, .vocab_size = kVocab, .takes_guesses = true};
  RepeatingModel first(sizes, 60), second(sizes, 60);  // no text repeats within a response
  const auto requests = make_requests(1, 1);
  const auto responses = generate_with(first, requests, params);
  CHECK(first.num_steps == 60);
  CHECK(generate_with(second, requests, params)[0].ids == responses[0].ids);
  CHECK(second.num_steps < 20);
}

TEST_CASE("no token is drawn behind an end token that was guessed", "[rollout]") {
  const FakeSizes sizes{.num_slots = 1, .max_length = 80, .vocab_size = kVocab, .takes_guesses = true};
  SamplingParams params = guessing(params_of(70));
  params.generating.constraint = std::make_shared<EndsOnce>();
  auto requests = make_requests(1, 40);
  for (auto& request : requests) request.prompt_ids = {5, 6, 7, 0, 5, 6, 7, 0, 5, 6, 7, 0, 5, 6, 7};
  RepeatingModel model(sizes, 2);
  SamplerCounts counts;
  const auto responses = generate_with(model, requests, params, {}, {.counts = &counts});
  CHECK(std::ranges::count(responses, FinishReason::kStop, &Generation::finish_reason) > 10);
  CHECK(counts.guessed > 0);
}

TEST_CASE("where guesses are wrong, they end", "[rollout]") {
  SamplingParams params = guessing(params_of(2000));
  params.ignore_eos = true;
  const FakeSizes sizes{.num_slots = 16, .max_length = 2100, .vocab_size = kVocab, .takes_guesses = true};
  FakeModel model(sizes);  // each token is drawn anew from the whole text before it
  SamplerCounts counts;
  generate_with(model, make_requests(4, 4), params, {}, {.counts = &counts});
  CHECK(counts.drawn == 16 * 2000);
  CHECK(counts.guessed < counts.drawn / 100);
}

TEST_CASE("a guess continues the longest repetition, and forgets what is too old", "[rollout]") {
  TokenGuesser guesser(40);
  const std::vector<int64_t> prompt{1, 2, 3, 4, 9, 5, 2, 3, 4, 8};
  const auto response = guesser.begin(prompt, std::vector<int64_t>{7, 5, 2, 3});
  guesser.add(response, 4);
  CHECK(guesser.guess(response, 1, 0.1) == std::vector<int64_t>{8});  // behind 5 2 3 4, not behind 2 3 4
  CHECK(guesser.guess(response, 4, 0.1) == std::vector<int64_t>{8});
  const std::vector<int64_t> whole{7, 5, 2, 3, 4};
  TokenGuesser searching;  // finds the place at once, not token by token
  CHECK(searching.guess(searching.begin(prompt, whole), 1, 0.1) == std::vector<int64_t>{8});
  CHECK(guesser.guess(response, 1, 0.9).empty());
  const auto other = guesser.begin(prompt, std::vector<int64_t>{7, 5, 2});
  CHECK(guesser.guess(other, 3, 0.01) == std::vector<int64_t>{3, 4});  // as the other response goes on
  guesser.end(response);
  guesser.end(other);
  for (int64_t i = 0; i < 9; ++i) guesser.end(guesser.begin(std::vector<int64_t>{i, 11, 12, 13, 14, 15}, {}));
  const auto late = guesser.begin(prompt, std::vector<int64_t>{7, 5, 2});
  CHECK(guesser.guess(late, 3, 0.01).empty());
}

TEST_CASE("a guess goes on behind one token that differs", "[rollout]") {
  TokenGuesser guesser;
  std::vector<int64_t> prompt{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const auto response = guesser.begin(prompt, std::vector<int64_t>{1, 2, 3});
  CHECK(guesser.guess(response, 2, 0.1) == std::vector<int64_t>{4, 5});
  guesser.add(response, 20);  // for 4
  CHECK(guesser.guess(response, 2, 0) == std::vector<int64_t>{5, 6});
  CHECK(guesser.guess(response, 2, 0.1).empty());  // not measured yet
  guesser.add(response, 21);                       // for 5: the second in a row
  CHECK(guesser.guess(response, 2, 0).empty());
}

TEST_CASE("the fixed part of a step is measured", "[rollout]") {
  StepTimes times;
  CHECK(times.fixed_rows() == 16);
  for (int64_t i = 0; i < 200; ++i) times.add(1 + i % 9, 0.001 * (5.0 + static_cast<double>(1 + i % 9)));
  CHECK(times.fixed_rows() == Approx(5).margin(0.5));
  StepTimes equal;  // steps of one size say nothing about rows
  for (int64_t i = 0; i < 200; ++i) equal.add(4, 0.02);
  CHECK(equal.fixed_rows() == Approx(16));
  StepTimes falling;
  for (int64_t i = 0; i < 400; ++i) falling.add(1 + i % 9, 0.02 - 0.001 * static_cast<double>(i % 9));
  CHECK(falling.fixed_rows() <= 64);
}

}  // namespace roll
