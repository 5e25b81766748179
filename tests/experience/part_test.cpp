// A step that ranks share out is completed to what it is on one rank: masks, rewards, advantages, metrics, state.
#include "experience/part.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "base/random.h"
#include "dist/local_ranks.h"
#include "experience/build.h"
#include "golden_batch.h"
#include "sample.h"

namespace roll {
namespace {

/// Which of 7 sequences each of 3 ranks has, in shuffled order: one rank has a single one.
const std::vector<std::vector<int64_t>> kShares = {{5, 0, 3}, {4}, {6, 2, 1}};

/// "" or what differs by more than rounding.
std::string difference(const char* name, const at::Tensor& shared, const at::Tensor& whole) {
  if (shared.defined() != whole.defined()) return fmt::format("{} is there only once; ", name);
  if (!whole.defined() || at::allclose(shared, whole, 1e-6, 1e-6)) return "";
  return fmt::format("{} differs by {}; ", name, (shared - whole).abs().max().item<double>());
}

std::string difference(const Experience& shared, const Experience& whole) {
  std::string text;
  for (const char* mask : {"response_mask", "final_response_mask", "positive_response_mask"})
    text += difference(mask, shared.mask(mask), whole.mask(mask));
  text += difference("is_weights", shared.is_weights, whole.is_weights);
  text += difference("token_rewards", shared.token_rewards, whole.token_rewards);
  text += difference("advantages", shared.advantages, whole.advantages);
  return text + difference("returns", shared.returns, whole.returns);
}

std::string difference(const Metrics& shared, const Metrics& whole) {
  const MetricValues found = shared.values(), expected = whole.values();
  if (found.size() != expected.size()) return fmt::format("{} metrics, not {}; ", found.size(), expected.size());
  std::string text;
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i].first != expected[i].first || std::abs(found[i].second - expected[i].second) > 1e-6)
      text +=
          fmt::format("{} = {}, not {} = {}; ", found[i].first, found[i].second, expected[i].first, expected[i].second);
  return text;
}

/// Two steps, so that what outlives a step counts.
std::string compare(const Json& golden, const ExperienceConfig& config, const std::vector<std::string>& domains,
                    std::optional<size_t> unjudged, Communicator& ranks) {
  ExperienceState alone(config), shared(config);
  std::string text;
  for (int64_t step = 0; step < 2; ++step) {
    Experience whole = testing::golden_batch(golden, step, domains, unjudged);
    const std::vector<int64_t>& share = kShares[ranks.rank()];
    Part part(select(whole, share), step_facts(whole), share, ranks);
    const Metrics of_shared = complete_experience(part, config, 3, shared);
    const Metrics of_whole = complete_experience(whole, config, 3, alone);
    text += difference(part.experience, select(whole, share)) + difference(of_shared, of_whole);
  }
  const Json expected = alone.state(), found = shared.state();
  for (const auto& [domain, of_domain] : expected.items())
    for (const char* what : {"kl", "rewards"})
      for (const auto& [key, value] : of_domain.at(what).items())
        if (value.is_number() && std::abs(value.get<double>() - found.at(domain).at(what).at(key).get<double>()) > 1e-9)
          text += fmt::format("{} of {} is another one; ", key, what);
  return text;
}

}  // namespace

TEST_CASE("a step that three ranks share out is completed as on one", "[experience][dist]") {
  const Json golden = testing::golden_maths("experience");
  bool is_all_judged = false;  // in every other case
  for (const Json& expected : golden["cases"]) {
    const auto config = testing::config_from<ExperienceConfig>(expected["config"]);
    const auto unjudged = (is_all_judged = !is_all_judged) ? std::optional<size_t>() : std::optional<size_t>(3);
    const auto said = test::run_local_ranks(3, [&](Communicator& ranks) {
      return compare(golden, config, {"a", "b", "a", "b", "a", "b", "a"}, unjudged, ranks) +
             compare(golden, config, std::vector<std::string>(7), unjudged, ranks);
    });
    INFO(expected["config"].dump() << ", unjudged " << unjudged.has_value());
    // An error that one rank alone has, all have: the statistics are those of all.
    for (const std::string& text : said) CHECK(text == (text.starts_with("error: ") ? said[0] : ""));
  }
}

TEST_CASE("numbers of responses are told in the order of the part, not of the share", "[experience]") {
  Experience two =
      make_experience({{.prompt_ids = {1}, .response_ids = {2}}, {.prompt_ids = {1, 1}, .response_ids = {2}}});
  Part part(two);
  part.experience = select(two, {1, 0});
  part.global_index = {1, 0};
  CHECK(part.all_gather({10, 20}) == std::vector<double>{20, 10});
  CHECK(part.select_local(std::vector<double>{5, 6}) == std::vector<double>{6, 5});
}

}  // namespace roll
