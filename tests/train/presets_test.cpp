// The files of configs/algorithms against the papers: the real file, through the experience and the loss.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "collect/group_quota.h"
#include "golden_gradient.h"
#include "settings/load_config.h"

namespace roll {

namespace {

using testing::floats;

const std::filesystem::path kFolder = std::filesystem::path(ROLL_SOURCE_DIR) / "configs/algorithms";

/// The sequences of groups that the domain's filter keeps.
std::vector<int64_t> kept_sequences(const Experience& step, const Config& config, int64_t group_size) {
  std::vector<int64_t> kept;
  for (int64_t first = 0; first < step.num_sequences(); first += group_size) {
    std::vector<std::optional<double>> scores;
    for (int64_t b = first; b < first + group_size; ++b) scores.emplace_back(step.responses[b].score);
    if (!is_useful(scores, config.rewards.at("math_rule").reward.query_filter_config)) continue;
    for (int64_t b = first; b < first + group_size; ++b) kept.push_back(b);
  }
  return kept;
}

/// The gradient of the whole step, which is one mini-batch here.
at::Tensor gradient_of(const Config& config, const Json& golden) {
  const Experience whole = testing::golden_step(golden, config);
  return testing::golden_gradient(config, golden, whole, kept_sequences(whole, config, golden["group_size"]));
}

}  // namespace

TEST_CASE("each file of configs/algorithms has the gradient of its paper", "[train]") {
  const Json golden = testing::golden_maths("presets");
  std::set<std::string> checked;
  for (const auto& file : std::filesystem::directory_iterator(kFolder)) {
    if (file.path().extension() != ".yaml") continue;
    const std::string name = file.path().stem().string();
    INFO(name);
    REQUIRE(golden["presets"].contains(name));
    const Json& preset = golden["presets"][name];
    const Config config = load_config(file.path(), {}, {.num_ranks = {}, .offline = true}).config;
    const at::Tensor ours = gradient_of(config, golden), paper = floats(preset["gradient"]).to(at::kDouble);
    CHECK(testing::cosine_of(ours, paper) == Approx(1).epsilon(1e-9));
    const double largest = (ours * preset["scale"].get<double>() - paper).abs().max().item<double>();
    CHECK(largest <= 1e-5 * paper.abs().max().item<double>());
    checked.insert(name);
  }
  CHECK(checked.size() == golden["presets"].size());
}

}  // namespace roll
