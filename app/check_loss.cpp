// roll check-loss: checks that the configured loss (built-in or plug-in) does not depend on ranks and micro-batches.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/cli/config_flags.h"
#include "app/commands.h"
#include "base/error.h"
#include "preview/length_sources.h"
#include "preview/loss_layouts.h"
#include "records/rollout_files.h"
#include "settings/load_config.h"
#include "settings/rollout_only.h"

namespace roll {

namespace {

struct CheckLossFlags {
  std::string config, rollouts;
  std::vector<std::string> overrides;
  int64_t step = 1;
  double tolerance = 1e-6;
  bool verbose = false;
};

LossStep read_step(const CheckLossFlags& flags, const Config& config) {
  if (flags.rollouts.empty()) return random_loss_step(config);
  return make_loss_step(
      read_replay(folder_with_step(flags.rollouts, flags.step), flags.step, config.num_return_sequences_in_group,
                  config.experience.adv_estimator->samples_baseline),
      config);
}

void check(const CheckLossFlags& flags) {
  const auto checked = load_config(flags.config, flags.overrides, {.num_ranks = {}, .offline = true});
  const Config& config = checked.config;
  require_training(config, flags.config, "check-loss");
  const LossStep step = read_step(flags, config);
  std::printf("%lld sequences, %lld tokens%s\n%s\n", static_cast<long long>(step.num_sequences()),
              static_cast<long long>(step.num_tokens()), flags.rollouts.empty() ? " (random)" : "",
              checked.loss.c_str());
  LayoutDeviation worst;
  for (const LayoutDeviation& layout : check_layouts(step, config)) {
    if (flags.verbose || layout.worst() > flags.tolerance)
      std::printf("%-6s loss %.1e  gradient %.1e  %s%s\n", layout.role.c_str(), layout.loss, layout.gradient,
                  layout.layout.c_str(), layout.worst() > flags.tolerance ? "  <- over the tolerance" : "");
    if (worst.layout.empty() || !(layout.worst() <= worst.worst())) worst = layout;
  }
  std::printf("largest deviation from one batch in float64: %.1e (%s: %s); tolerance %.0e\n", worst.worst(),
              worst.role.c_str(), worst.layout.c_str(), flags.tolerance);
  if (!(worst.worst() <= flags.tolerance))
    throw system_error(
        "{}: the {} loss depends on the layout: under {} it is {:.1e} (relative) from that of one batch, more than "
        "--tolerance = {:.0e}; look at apply_loss_scale and the plug-ins of {}, or raise --tolerance",
        flags.config, worst.role, worst.layout, worst.worst(), flags.tolerance,
        worst.role == "actor" ? "actor_train" : "critic");
}

}  // namespace

void add_check_loss(CLI::App& app) {
  auto* sub = app.add_subcommand("check-loss", "prove that the configured loss does not depend on the layout");
  auto flags = std::make_shared<CheckLossFlags>();
  add_config_flags(*sub, flags->config, flags->overrides, "YAML file of `roll train`");
  sub->add_option("--rollouts", flags->rollouts,
                  "run folder, or its rollouts, to take responses and rewards from; default: random ones");
  sub->add_option("--step", flags->step, "step of --rollouts")->check(CLI::Range(1, 1000000000))->capture_default_str();
  sub->add_option("--tolerance", flags->tolerance, "largest relative deviation of loss and gradient")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  sub->add_flag("--verbose", flags->verbose, "print every layout");
  sub->callback([=] { check(*flags); });
}

}  // namespace roll
