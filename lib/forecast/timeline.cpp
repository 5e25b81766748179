#include "forecast/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "settings/training_plan.h"

namespace roll {

namespace {

struct PhaseLetter {
  const char* phase;
  char letter;
  const char* words;
};
/// Returns the updates of roles in the order of a step.
std::vector<const char*> update_phases() {
  std::vector<const char*> phases;
  for (const TrainableRole& row : trainable_roles()) phases.insert(phases.begin(), row.phase);
  return phases;
}

std::vector<PhaseLetter> phase_letters() {
  std::vector<PhaseLetter> letters = {{"model_update", 'w', "weights to the sampler"},
                                      {"generate", 'g', "sampling"},
                                      {"rollouts", 'b', "moving sequences"},
                                      {"forwards", 'f', "moving results"},
                                      {"reference", 'r', "reference"},
                                      {"old_log_probs", 'o', "old log-probs"},
                                      {"values", 'v', "values"}};
  const auto roles = trainable_roles();
  for (auto row = roles.rbegin(); row != roles.rend(); ++row)
    letters.push_back({row->phase, row->metrics[0], row->metrics});
  return letters;
}

double phase_seconds(const ClassWork& work, const char* phase) {
  const auto found = work.seconds.find(phase);
  return found == work.seconds.end() ? 0 : found->second;
}

/// Appends `phases` one after the other to each class, beginning at `begin_s`; returns the last end. `share`: part of
/// the work.
double run(std::vector<ClassTimeline>& classes, const std::vector<const char*>& phases, double begin_s,
           double share = 1) {
  double end_s = begin_s;
  for (ClassTimeline& timeline : classes) {
    double at_s = begin_s;
    for (const char* phase : phases) {
      const double seconds = share * phase_seconds(timeline.work, phase);
      if (seconds > 0) timeline.stretches.push_back({phase, at_s, at_s + seconds});
      at_s += seconds;
    }
    end_s = std::max(end_s, at_s);
  }
  return end_s;
}

/// Returns the letter of the main phase in [begin_s, end_s), or '.' for idle.
char main_letter(const ClassTimeline& timeline, double begin_s, double end_s) {
  std::map<std::string, double> within_s;  // by phase
  double idle_s = end_s - begin_s;
  for (const Stretch& stretch : timeline.stretches) {
    const double seconds = std::max(0.0, std::min(end_s, stretch.end_s) - std::max(begin_s, stretch.begin_s));
    within_s[stretch.phase] += seconds;
    idle_s -= seconds;
  }
  char letter = '.';
  double most_s = idle_s;
  for (const PhaseLetter& known : phase_letters())
    if (within_s[known.phase] > most_s) {
      most_s = within_s[known.phase];
      letter = known.letter;
    }
  return letter;
}

}  // namespace

double ClassTimeline::busy_s() const {
  double sum = 0;
  for (const Stretch& stretch : stretches) sum += stretch.end_s - stretch.begin_s;
  return sum;
}

Timeline build_timeline(std::vector<ClassWork> classes, double ahead_share) {
  Timeline timeline;
  for (ClassWork& work : classes) timeline.classes.push_back({std::move(work), {}});
  auto& lines = timeline.classes;
  double now_s = run(lines, {"model_update"}, 0);
  now_s = run(lines, {"generate"}, now_s, 1 - ahead_share);
  now_s = run(lines, {"rollouts"}, now_s);
  const double sampled_s = run(lines, {"generate"}, now_s, ahead_share);
  now_s = run(lines, {"forwards", "reference", "old_log_probs", "values"}, now_s);
  now_s = run(lines, update_phases(), now_s);
  timeline.seconds = std::max(now_s, sampled_s);
  return timeline;
}

std::string to_text(const Timeline& timeline, int width) {
  std::string legend;
  for (const PhaseLetter& shown : phase_letters()) {
    const auto has_phase = [&](const auto& shown_class) { return phase_seconds(shown_class.work, shown.phase) > 0; };
    if (std::ranges::any_of(timeline.classes, has_phase))
      legend += fmt::format("{}{} {}", legend.empty() ? "" : ", ", shown.letter, shown.words);
  }
  std::string text = fmt::format("a step of {:.1f} s: {}\n", timeline.seconds, legend);
  size_t widest = 0;
  for (const ClassTimeline& class_timeline : timeline.classes)
    widest = std::max(widest, class_timeline.work.ranks.size());
  const double piece_s = timeline.seconds / width;
  for (const ClassTimeline& class_timeline : timeline.classes) {
    std::string bar;
    for (int i = 0; i < width; ++i) bar += main_letter(class_timeline, i * piece_s, (i + 1) * piece_s);
    text += fmt::format("  {:<{}} {:6.1f} GB |{}| idle {:2.0f} %  {}\n", class_timeline.work.ranks, widest,
                        class_timeline.work.memory_bytes / 1e9, bar,
                        100 * (1 - class_timeline.busy_s() / timeline.seconds), class_timeline.work.roles);
  }
  return text;
}

}  // namespace roll
