#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/walk.h"

namespace roll {

namespace {

constexpr double kPolynomialEnd = 1e-7;  // transformers' default of lr_end
constexpr double kTimescale = 10000;     // inverse_sqrt's default without a warm-up
constexpr double kHalfWave = 0.5;

/// Returns 1 at 0 waves, 0 at half a wave.
double cosine_wave(double waves) {
  return 0.5 * (1.0 + std::cos(2.0 * std::numbers::pi * waves));
}

/// Returns the line from `end` at x = 0 to 1 at x = 1.
double raised(double x, double end) {
  return x * (1.0 - end) + end;
}

/// Returns 1 at progress 0 and 0 at progress 1 (cosine: after `waves` = 0.5).
double fall(LrRamp ramp, double progress, double waves = kHalfWave) {
  switch (ramp) {
    case LrRamp::kLinear:
      return 1.0 - progress;
    case LrRamp::kCosine:
      return cosine_wave(waves * progress);
    case LrRamp::kOneMinusSqrt:
      return 1.0 - std::sqrt(progress);
  }
  throw Bug("a ramp without a form");
}

/// Returns the addresses of the arguments that a schedule takes.
std::vector<const void*> used_arguments(LrScheduleType type, const LrScheduleArgs& args) {
  switch (type) {
    case LrScheduleType::kLinear:
    case LrScheduleType::kConstant:
      return {};
    case LrScheduleType::kCosine:
    case LrScheduleType::kCosineWithRestarts:
      return {&args.num_cycles};
    case LrScheduleType::kPolynomial:
      return {&args.lr_end, &args.power};
    case LrScheduleType::kInverseSqrt:
      return {&args.timescale};
    case LrScheduleType::kCosineWithMinLr:
      return {&args.num_cycles, &args.min_lr, &args.min_lr_rate};
    case LrScheduleType::kCosineWarmupWithMinLr:
      return {&args.num_cycles, &args.min_lr, &args.min_lr_rate, &args.warmup_lr_rate};
    case LrScheduleType::kWarmupStableDecay:
      return {&args.num_decay_steps, &args.num_stable_steps, &args.warmup_type,
              &args.decay_type,      &args.min_lr_ratio,     &args.num_cycles};
  }
  throw Bug("a schedule without its arguments");
}

/// Returns the names of the arguments that a schedule takes, or of set ones that it does not take.
std::vector<std::string> argument_names(LrScheduleType type, LrScheduleArgs args, bool are_taken) {
  const std::vector<const void*> taken = used_arguments(type, args);
  std::vector<std::string> names;
  walk(args, WalkDepth::kAll, [&](const KeyInfo& info, const AnyMember& member) {
    const bool is_taken = std::ranges::find(taken, member.at) != taken.end();
    if (is_taken == are_taken && (are_taken || !member.is_null())) names.push_back(info.key);
  });
  return names;
}

}  // namespace

void LrSchedule::check_args() const {
  const std::string_view name = enum_name(type);
  if (const auto unused = argument_names(type, args, /*are_taken=*/false); !unused.empty()) {
    const auto used = argument_names(type, args, /*are_taken=*/true);
    throw user_error("{}: lr_scheduler_type = {} takes {}; remove it, or choose another type", unused.front(), name,
                     used.empty() ? "no arguments" : fmt::format("{}", fmt::join(used, ", ")));
  }
  if (type == LrScheduleType::kWarmupStableDecay && !args.num_decay_steps)
    throw user_error("lr_scheduler_type = {} needs num_decay_steps; set it", name);
  const bool has_minimum = type == LrScheduleType::kCosineWithMinLr || type == LrScheduleType::kCosineWarmupWithMinLr;
  if (has_minimum && args.min_lr.has_value() == args.min_lr_rate.has_value())
    throw user_error("lr_scheduler_type = {} needs one of min_lr and min_lr_rate; {}", name,
                     args.min_lr ? "keep one of the two" : "set one");
  if (args.min_lr && *args.min_lr > peak_lr)
    throw user_error("min_lr = {}: must be at most learning_rate = {}", *args.min_lr, peak_lr);
  const double end = args.lr_end.value_or(kPolynomialEnd);
  if (type == LrScheduleType::kPolynomial && end >= peak_lr)
    throw user_error("lr_end = {}{}: must be below learning_rate = {}", end, args.lr_end ? "" : " (the default)",
                     peak_lr);
}

double LrSchedule::at(int64_t step) const {
  const auto now = static_cast<double>(step);
  return peak_lr * std::max(0.0, step < warmup_steps ? during_warmup(now) : after_warmup(now));
}

double LrSchedule::min_rate() const {
  if (args.min_lr && peak_lr > 0) return *args.min_lr / peak_lr;
  return args.min_lr_rate.value_or(0);
}

double LrSchedule::during_warmup(double now) const {
  const auto warmup = static_cast<double>(warmup_steps);
  switch (type) {
    case LrScheduleType::kCosineWarmupWithMinLr:
      if (!args.warmup_lr_rate) return (now + 1.0) / warmup;
      return raised(now / std::max(1.0, warmup - 1.0), *args.warmup_lr_rate);
    case LrScheduleType::kWarmupStableDecay:
      return raised(fall(args.warmup_type.value_or(LrRamp::kLinear), 1.0 - now / warmup),
                    args.min_lr_ratio.value_or(0));
    default:
      return now / warmup;
  }
}

double LrSchedule::after_warmup(double now) const {
  const auto warmup = static_cast<double>(warmup_steps), total = static_cast<double>(total_steps);
  const double decay_steps = std::max(1.0, total - warmup), progress = (now - warmup) / decay_steps;
  const double waves = args.num_cycles.value_or(kHalfWave);
  switch (type) {
    case LrScheduleType::kConstant:
      return 1;
    case LrScheduleType::kLinear:
      return 1.0 - progress;
    case LrScheduleType::kCosine:
      return cosine_wave(waves * progress);
    case LrScheduleType::kCosineWithRestarts:
      return progress >= 1 ? 0 : cosine_wave(kHalfWave * std::fmod(args.num_cycles.value_or(1) * progress, 1.0));
    case LrScheduleType::kPolynomial:
      return raised(std::pow(std::max(0.0, 1.0 - progress), args.power.value_or(1)),
                    args.lr_end.value_or(kPolynomialEnd) / peak_lr);
    case LrScheduleType::kInverseSqrt: {
      const double scale = args.timescale     ? static_cast<double>(*args.timescale)
                           : warmup_steps > 0 ? warmup
                                              : kTimescale;
      return 1.0 / std::sqrt((now - warmup + scale) / scale);
    }
    case LrScheduleType::kCosineWithMinLr:
      return raised(cosine_wave(waves * progress), min_rate());
    case LrScheduleType::kCosineWarmupWithMinLr:
      return raised(cosine_wave(waves * (progress + 1.0 / decay_steps)), min_rate());
    case LrScheduleType::kWarmupStableDecay: {
      const auto decay = static_cast<double>(args.num_decay_steps.value_or(0));
      const double stable =
          args.num_stable_steps ? static_cast<double>(*args.num_stable_steps) : total - warmup - decay;
      const double end = args.min_lr_ratio.value_or(0), decayed = now - warmup - stable;
      if (decayed < 0) return 1;
      if (decayed >= decay) return end;
      return raised(fall(args.decay_type.value_or(LrRamp::kCosine), decayed / decay, waves), end);
    }
  }
  throw Bug("a schedule without a rule");
}

}  // namespace roll
