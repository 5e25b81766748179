// Ranks that share a model draw the same tokens even where their logits differ in the last bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "dist/local_ranks.h"
#include "rollout/fake_model.h"
#include "rollout/sampler.h"
#include "rollout/sampling_params.h"

namespace roll {

namespace {

/// Whole logits, so that several are the largest. On the second rank the last of those is larger by one bit.
class SharedModel : public FakeModel {
 public:
  explicit SharedModel(Communicator* ranks)
      : FakeModel({.num_slots = 3, .max_length = 40, .takes_guesses = true}, ranks),
        is_first_(!ranks || ranks->is_first()) {}

  std::vector<float> row_after(const std::vector<int64_t>& ids) const override {
    std::vector<float> row = FakeModel::row_after(ids);
    if (is_damaged) return std::vector<float>(row.size(), std::nanf(""));
    for (float& x : row) x = std::round(x);
    if (is_first_) return row;
    const auto last = std::max_element(row.rbegin(), row.rend());
    *last = std::nextafter(*last, std::numeric_limits<float>::infinity());
    return row;
  }

  bool is_damaged = false;

 private:
  bool is_first_;
};

std::string responses(SharedModel& model, double temperature, bool guesses = false) {
  SamplingParams params = test::sampling_params(temperature);
  params.generating.max_new_tokens = 12;
  if (guesses) params.guesser = std::make_shared<TokenGuesser>();
  std::vector<GenerationRequest> requests;
  for (uint64_t i = 0; i < 8; ++i) requests.push_back({{static_cast<int64_t>(1 + i % 3), 7}, i});
  std::string text;
  for (const Generation& g : generate_with(model, requests, params)) {
    text += fmt::format("{} {}", g.text, enum_name(g.finish_reason));
    for (const float log_prob : g.log_probs) text += fmt::format(" {}", log_prob);
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("ranks that share a model all take the first one's draws", "[rollout]") {
  const double temperature = GENERATE(0.0, 1.0);
  const bool guesses = GENERATE(false, true);
  SharedModel one(nullptr);
  const std::string alone = responses(one, temperature);
  for (const auto& said : test::run_local_ranks(2, [&](Communicator& ranks) {
         SharedModel model(&ranks);
         return responses(model, temperature, guesses);
       }))
    CHECK(said == alone);
}

TEST_CASE("when the first rank cannot draw, it says why and the others end quietly", "[rollout]") {
  const auto said = test::run_local_ranks(3, [&](Communicator& ranks) {
    SharedModel model(&ranks);
    model.is_damaged = ranks.is_first();
    return responses(model, 1.0);
  });
  CHECK_THAT(said[0], Catch::Contains("logits are not finite"));
  CHECK(said[1] == "error: rank 0 failed and has printed the reason");
  CHECK(said[2] == said[1]);
}

}  // namespace roll
