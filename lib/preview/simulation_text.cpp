#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "preview/simulation.h"

namespace roll {

namespace {

/// "1.50 GB"
std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  if (bytes >= 1e6) return fmt::format("{:.2f} MB", bytes / 1e6);
  if (bytes >= 1e3) return fmt::format("{:.2f} kB", bytes / 1e3);
  return fmt::format("{:.0f} B", bytes);
}

/// What most of a phase's time goes to.
const char* bound_by(const PhaseSimulation& phase) {
  if (phase.traffic_s > phase.compute_s && phase.traffic_s > phase.memory_s) return "traffic";
  return phase.memory_s > phase.compute_s ? "memory" : "arithmetic";
}

Json phase_json(const PhaseSimulation& phase) {
  return {{"phase", phase.name},          {"mean_bytes", phase.mean_bytes}, {"most_bytes", phase.most_bytes},
          {"compute_s", phase.compute_s}, {"memory_s", phase.memory_s},     {"traffic_s", phase.traffic_s},
          {"seconds", phase.seconds},     {"bound_by", bound_by(phase)}};
}

}  // namespace

Json to_json(const Simulation& s) {
  Json json = {{"ranks", s.num_ranks},
               {"planned_ranks", s.num_planned},
               {"step", s.step},
               {"prompts", s.num_prompts},
               {"sequences", s.num_sequences},
               {"mean_length", s.mean_length},
               {"sockets_per_rank", s.most_sockets}};
  json["largest_message"] = {{"bytes", s.largest_message}, {"of", s.largest_key}};
  for (const auto& [ranks, memory] : s.memory)
    json["memory"].push_back(
        {{"ranks", ranks}, {"device_bytes", memory.total()}, {"checkpoint_bytes", memory.checkpoint}});
  for (const PhaseSimulation& phase : s.phases) json["phases"].push_back(phase_json(phase));
  json["seconds"] = s.seconds();
  json["bottleneck"] = s.bottleneck().name;
  json["first_rank_bytes"] = s.first_rank;
  json["notes"] = s.notes;
  return json;
}

std::string to_text(const Simulation& s, const SimulatedMachine& machine) {
  std::string text =
      fmt::format("{} ranks on {} hosts, step {}: {} prompts, {} sequences of {:.0f} tokens on average\n", s.num_ranks,
                  (s.num_ranks + machine.ranks_per_host - 1) / machine.ranks_per_host, s.step, s.num_prompts,
                  s.num_sequences, s.mean_length);
  if (s.num_planned < s.num_ranks) text += fmt::format("the plans of {} ranks stand for those of all\n", s.num_planned);
  text += fmt::format("  {:<14} {:>12} {:>12} {:>10} {:>10} {:>10} {:>10}  {}\n", "phase", "sent, mean", "sent, most",
                      "compute s", "memory s", "traffic s", "seconds", "bound by");
  for (const PhaseSimulation& p : s.phases)
    text += fmt::format("  {:<14} {:>12} {:>12} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f}  {}\n", p.name,
                        bytes_text(static_cast<double>(p.mean_bytes)), bytes_text(static_cast<double>(p.most_bytes)),
                        p.compute_s, p.memory_s, p.traffic_s, p.seconds, bound_by(p));
  const PhaseSimulation& slowest = s.bottleneck();
  text += fmt::format("  largest message {} ({}); at most {} sockets a rank\n",
                      bytes_text(static_cast<double>(s.largest_message)), s.largest_key, s.most_sockets);
  for (const auto& [ranks, memory] : s.memory)
    text += fmt::format("  memory of ranks {}, about: {}\n", ranks, memory_text(memory));
  text += fmt::format("  bottleneck: {}, {:.0f} % of {:.1f} s, by {}\n", slowest.name,
                      100 * slowest.seconds / s.seconds(), s.seconds(), bound_by(slowest));
  return text;
}

}  // namespace roll
