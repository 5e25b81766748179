// The files of configs/algorithms against the papers: the real file, through the experience and the loss.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "collect/group_quota.h"
#include "experience/build.h"
#include "golden_maths.h"
#include "settings/load_config.h"
#include "step/role_losses.h"
#include "step/step_settings.h"
#include "step/updates.h"

namespace roll {

namespace {

using testing::floats;

const std::filesystem::path kFolder = std::filesystem::path(ROLL_SOURCE_DIR) / "configs/algorithms";

Experience golden_step(const Json& golden, const Config& config) {
  const std::vector<int64_t> prompts = golden["prompt_lengths"], responses = golden["response_lengths"];
  const std::vector<double> scores = golden["scores"], greedy = golden["greedy_rewards"];
  std::vector<Sample> samples;
  for (int64_t b = 0; b < std::ssize(prompts); ++b) {
    const int64_t group = b / golden["group_size"].get<int64_t>();
    samples.push_back({.prompt_ids = std::vector<int64_t>(prompts[b], 1),
                       .response_ids = std::vector<int64_t>(responses[b], 2),
                       .sequence_index = b,
                       .group_index = group,
                       .score = scores[b],
                       .domain = "math_rule"});
    if (config.experience.adv_estimator->samples_baseline) samples.back().baseline = greedy[group];
  }
  Experience step = make_experience(samples);
  const Json& in = golden["inputs"];
  step.old_log_probs = step.sampler_log_probs = floats(in["old_log_probs"]);
  if (config.experience.adv_estimator->reads_energies) step.energies = floats(in["energies"]);
  if (config.uses_reference()) step.ref_log_probs = floats(in["ref_log_probs"]);
  if (config.uses_critic()) step.values = floats(in["values"]);
  return step;
}

/// The sequences of groups that the domain's filter keeps.
std::vector<int64_t> kept_sequences(const Experience& step, const Config& config, int64_t group_size) {
  std::vector<int64_t> kept;
  for (int64_t first = 0; first < step.num_sequences(); first += group_size) {
    const std::vector<std::optional<double>> scores(step.scores.begin() + first,
                                                    step.scores.begin() + first + group_size);
    if (!is_useful(scores, config.rewards.at("math_rule").reward.query_filter_config)) continue;
    for (int64_t b = first; b < first + group_size; ++b) kept.push_back(b);
  }
  return kept;
}

/// Of the log-probs of the whole step, which is one mini-batch here.
at::Tensor gradient_of(const Config& config, const Json& golden) {
  const Experience whole = golden_step(golden, config);
  const auto kept = kept_sequences(whole, config, golden["group_size"]);
  Experience step = select(whole, kept);
  const int64_t num_groups = std::ssize(golden["greedy_rewards"]);
  ExperienceState state(config.experience);
  complete_experience(step, config.experience, num_groups, state);
  const at::Tensor log_probs = floats(golden["inputs"]["log_probs"]).requires_grad_();
  const at::Tensor of_step = log_probs.index_select(0, token_indices(whole, kept));
  const auto counts = count_masks(step, config.loss.loss_mask_keys, num_groups);
  const ActorLoss loss(step_settings(config).actor.loss);
  loss(step, {of_step, at::zeros_like(of_step)}, counts).loss.backward();
  return log_probs.grad().to(at::kDouble);
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
    const double cosine = (ours.dot(paper) / ours.norm() / paper.norm()).item<double>();
    CHECK(cosine == Approx(1).epsilon(1e-9));
    const double largest = (ours * preset["scale"].get<double>() - paper).abs().max().item<double>();
    CHECK(largest <= 1e-5 * paper.abs().max().item<double>());
    checked.insert(name);
  }
  CHECK(checked.size() == golden["presets"].size());
}

}  // namespace roll
