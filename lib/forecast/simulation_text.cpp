#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "forecast/simulation.h"

namespace roll {

namespace {

/// Returns "1.50 GB".
std::string bytes_text(int64_t number) {
  const auto bytes = static_cast<double>(number);
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.2f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.2f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

/// Returns what takes most of a phase's time.
const char* bound_by(const PhaseSimulation& phase) {
  if (phase.traffic_s > phase.compute_s && phase.traffic_s > phase.memory_s) return "traffic";
  return phase.memory_s > phase.compute_s ? "memory" : "arithmetic";
}

constexpr double kShown = 0.01;  // share of a phase's bytes; smaller entries get no line

std::string format_line(const std::string& label, const RankBytes& sent, const RankBytes& received,
                        const std::string& more_columns) {
  return fmt::format("  {:<26} {:>10} {:>10} {:>10}{}\n", label, bytes_text(sent.mean), bytes_text(sent.most),
                     bytes_text(received.most), more_columns);
}

std::string phase_text(const PhaseSimulation& phase) {
  std::string text = format_line(phase.name, phase.all_sent, phase.all_received,
                                 fmt::format("{:>11.4f}{:>11.4f}{:>11.4f}{:>11.4f}  {}", phase.compute_s,
                                             phase.memory_s, phase.traffic_s, phase.seconds, bound_by(phase)));
  for (const auto& [key, sent] : phase.sent)
    if (static_cast<double>(sent.mean) >= kShown * static_cast<double>(phase.all_sent.mean))
      text += format_line("  " + key, sent, phase.received.at(key), fmt::format("{:>11} times", phase.calls.at(key)));
  return text;
}

Json rank_bytes_json(const RankBytes& bytes) {
  return {{"mean", bytes.mean}, {"most", bytes.most}, {"first_rank", bytes.first}};
}

Json phase_json(const PhaseSimulation& phase) {
  Json json = {{"phase", phase.name},
               {"bytes", rank_bytes_json(phase.all_sent)},
               {"bytes_received", rank_bytes_json(phase.all_received)},
               {"sent", Json::object()},
               {"received", Json::object()},
               {"calls", phase.calls}};
  for (const auto& [key, sent] : phase.sent) json["sent"][key] = rank_bytes_json(sent);
  for (const auto& [key, received] : phase.received) json["received"][key] = rank_bytes_json(received);
  json["compute_s"] = phase.compute_s;
  json["memory_s"] = phase.memory_s;
  json["traffic_s"] = phase.traffic_s;
  json["seconds"] = phase.seconds;
  if (phase.idle_share > 0) json["idle_share"] = phase.idle_share;
  json["bound_by"] = bound_by(phase);
  return json;
}

}  // namespace

Json to_json(const Simulation& s) {
  Json json = {{"ranks", s.num_ranks},           {"planned_ranks", s.num_planned},
               {"running_ranks", s.num_running}, {"step", s.step},
               {"prompts", s.num_prompts},       {"sequences", s.num_sequences},
               {"mean_length", s.mean_length},   {"sockets_per_rank", s.most_sockets}};
  json["largest_message"] = {{"bytes", s.largest_message}, {"of", s.largest_key}};
  for (const auto& [ranks, memory] : s.memory)
    json["memory"].push_back(
        {{"ranks", ranks}, {"device_bytes", memory.total()}, {"checkpoint_bytes", memory.checkpoint}});
  for (const PhaseSimulation& phase : s.phases) json["phases"].push_back(phase_json(phase));
  json["seconds"] = s.timeline.seconds;
  for (const ClassTimeline& class_timeline : s.timeline.classes)
    json["timeline"].push_back({{"ranks", class_timeline.work.ranks},
                                {"roles", class_timeline.work.roles},
                                {"busy_s", class_timeline.busy_s()}});
  json["bottleneck"] = s.bottleneck().name;
  json["notes"] = s.notes;
  return json;
}

std::string to_text(const Simulation& s, const SimulatedMachine& machine) {
  std::string text =
      fmt::format("{} ranks on {} hosts, step {}: {} prompts, {} sequences of {:.0f} tokens on average\n", s.num_ranks,
                  (s.num_ranks + machine.ranks_per_host - 1) / machine.ranks_per_host, s.step, s.num_prompts,
                  s.num_sequences, s.mean_length);
  if (s.num_planned < s.num_ranks) text += fmt::format("{} ranks are planned and stand for all\n", s.num_planned);
  if (s.num_running < s.num_planned)
    text += fmt::format("{} of {} planned ranks are simulated\n", s.num_running, s.num_planned);
  text += fmt::format("  {:<26} {:>10} {:>10} {:>10}{:>11}{:>11}{:>11}{:>11}  {}\n", "phase, bytes per rank",
                      "mean sent", "max sent", "max recv", "compute s", "memory s", "traffic s", "seconds", "bound by");
  for (const PhaseSimulation& phase : s.phases) text += phase_text(phase);
  text += to_text(s.timeline);
  const PhaseSimulation& slowest = s.bottleneck();
  text += fmt::format("  largest message: {} ({}); at most {} sockets per rank\n", bytes_text(s.largest_message),
                      s.largest_key, s.most_sockets);
  for (const auto& [ranks, memory] : s.memory)
    text += fmt::format("  memory of ranks {}, about: {}\n", ranks, memory_text(memory));
  text += fmt::format("  bottleneck: {}, {:.0f} % of {:.1f} s, bound by {}\n", slowest.name,
                      100 * slowest.seconds / s.timeline.seconds, s.timeline.seconds, bound_by(slowest));
  return text;
}

}  // namespace roll
