#include "run/run_start.h"

#include <algorithm>
#include <fstream>
#include <random>

#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/store.h"
#include "dist/agree.h"
#include "dist/messages.h"
#include "ops/products.h"
#include "run/run_folder.h"
#include "settings/config_change.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr const char *kNewRun = "ROLL_NEW_RUN", *kMultipliesBfloat16 = "multiplies_bfloat16",
                     *kByOnednn = "multiplies_float32_by_onednn";

std::string new_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

bool is_off(const std::string& resume) {
  return resume.empty() || resume == "false";
}

int64_t num_lines(const fs::path& file) {
  if (!is_there(file)) return 0;
  std::ifstream in = open_to_read(file);
  return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
}

fs::path folder_of(const RunWish& wish) {
  if (wish.new_run) return fs::path(wish.output_dir) / env(kNewRun).value_or("run");
  const fs::path latest = fs::path(wish.output_dir) / "latest";
  std::error_code ec;
  const bool is_link = fs::is_symlink(latest, ec) && !run_in(latest).empty();
  return !is_off(wish.resume_from_checkpoint) && is_link && run_in(wish.output_dir).empty()
             ? fs::path(wish.output_dir) / fs::read_symlink(latest)
             : fs::path(wish.output_dir);
}

/// Returns the newest sound checkpoint in a folder; warns of faults in newer ones.
std::optional<fs::path> newest_in(const fs::path& checkpoints, Log& log) {
  const CheckpointStore store(checkpoints);
  const auto step = store.newest_sound([&](const std::string& what) { log.warn("{}", what); });
  return step ? std::optional(store.path(*step)) : std::nullopt;
}

/// Returns the checkpoint at a path: itself, or the newest sound one of a run folder or its checkpoints.
fs::path checkpoint_at(const std::string& path, Log& log) {
  const auto refuse = [&](const std::string& why) {
    throw user_error("resume_from_checkpoint = {}: {}; give a folder like output/checkpoints/step_000010, or true",
                     path, why);
  };
  if (!is_folder(path)) refuse("no such folder");
  if (is_there(fs::path(path) / kManifestFile)) {
    const auto [damage, beside] = find_checkpoint_faults(path);
    if (!damage.empty()) refuse("the checkpoint is damaged: " + damage.front());
    for (const std::string& other : beside) log.warn("checkpoint {}: {}: nothing reads it", path, other);
    return path;
  }
  for (const fs::path& folder : {fs::path(path) / "checkpoints", fs::path(path)})
    if (const auto newest = newest_in(folder, log)) return *newest;
  refuse("holds no complete checkpoint");
  return {};
}

ResumePoint resume_point(const fs::path& checkpoint, const Manifest& manifest, const RunWish& wish, Log& log) {
  const Json& about = manifest.about;
  ResumePoint point{fs::canonical(checkpoint), manifest.step, {}, {}};
  const Json measured = about.value("measured", Json(wish.measured));
  if (measured != wish.measured) {
    log.warn("metric_for_best_model was {} and is {}: which checkpoints are best is found out anew", to_line(measured),
             to_line(wish.measured));
    return point;
  }
  const auto best = about.find("best_metric");
  if (best != about.end() && best->is_number()) point.best_metric = best->get<double>();
  point.early_stop = about.value("early_stopping", Json());
  return point;
}

void refuse_changes(const RunWish& wish, const fs::path& checkpoint, const Json& about, Log& log) {
  const fs::path saved = checkpoint / "config.resolved.yaml";
  std::vector<ConfigChange> changes = config_changes(read_file(saved), saved.string(), wish.resolved_config);
  const auto then = about.find("sequences_per_update");
  for (const auto& [role, now] : wish.sequences_per_update) {
    if (then == about.end() || !then->is_object() || !then->contains(role) || (*then)[role] == now) continue;
    changes.push_back({role + ": sequences of an update, over all ranks", to_line((*then)[role]), std::to_string(now)});
  }
  if (const Json was_long = about.value("is_long", Json(wish.is_long)); was_long != wish.is_long) {
    const auto list_of = [](bool is_long) { return is_long ? "long_factor" : "short_factor"; };
    changes.push_back({"what turns heads (LongRoPE), by the longest of sequence_length and val_sequence_length",
                       list_of(was_long == true), list_of(wish.is_long)});
  }
  if (changes.empty()) return;
  std::string list;
  for (const auto& [key, before, now] : changes)
    list += fmt::format("\n  {}: {} -> {}", key, before.empty() ? "(absent)" : before, now.empty() ? "(absent)" : now);
  if (!wish.allow_config_change)
    throw user_error(
        "the configuration is not the one that {} was trained with:{}\nset these back, or go on all the same with "
        "--allow-config-change",
        checkpoint.string(), list);
  log.warn("going on with another configuration than {} was trained with:{}", checkpoint.string(), list);
}

/// Returns the run named in the folder's run.json, or a new id.
std::string run_of(const fs::path& folder) {
  if (!is_there(folder / kRunFile)) return new_id();
  const Json about = read_json(folder / kRunFile);
  const auto run = about.is_object() ? about.find("run") : about.end();
  return about.is_object() && run != about.end() && run->is_string() ? run->get<std::string>() : new_id();
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto relative = fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(folder));
  return !relative.empty() && *relative.begin() != "..";
}

RunStart decided(const RunWish& wish, Log& log) {
  const bool restarts = env("ROLL_RESTART").has_value();
  if (wish.new_run && !is_off(wish.resume_from_checkpoint))
    throw user_error("--new-run begins a run of its own, and resume_from_checkpoint = {} goes on with one; drop one",
                     wish.resume_from_checkpoint);
  RunStart start{.folder = folder_of(wish), .run = {}, .resume = {}, .goes_on = false, .lock = {}};
  const std::string held = run_in(start.folder);
  const std::string& wished = wish.resume_from_checkpoint;
  std::optional<fs::path> checkpoint;
  if (!is_off(wished) && wished != "true") checkpoint = checkpoint_at(wished, log);
  const bool is_own = checkpoint && is_below(*checkpoint, start.folder);
  start.goes_on = !held.empty() && (restarts || wished == "true" || is_own);
  if (!start.goes_on) refuse_run_in(start.folder);
  if (start.goes_on) start.lock = lock_run_folder(start.folder);
  start.run = start.goes_on ? run_of(start.folder) : new_id();
  if (start.goes_on && (restarts || !is_own))
    if (const auto newest = newest_in(start.folder / "checkpoints", log)) checkpoint = newest;
  if (checkpoint) {
    const Manifest manifest = read_manifest(*checkpoint);
    refuse_changes(wish, *checkpoint, manifest.about, log);
    start.resume = resume_point(*checkpoint, manifest, wish, log);
    start.multiplied_bfloat16 = manifest.about.value(kMultipliesBfloat16, Json(multiplies_bfloat16())) == true;
    start.multiplied_by_onednn = manifest.about.value(kByOnednn, Json(false)) == true;
  }
  return start;
}

/// Keeps a run's arithmetic bit for bit, unless it would be slower on this machine.
bool multiplies_as_such(const RunStart& start, const Communicator& ranks) {
  if (!start.resume) return multiplies_bfloat16();
  return bfloat16_speedup() > 1 && (start.multiplied_bfloat16 || !ranks.is_first());
}

bool multiplies_float32_so(const RunStart& start, const Communicator& ranks) {
  if (!start.resume) return multiplies_by_onednn();
  return onednn_speedup() > 1 && (start.multiplied_by_onednn || !ranks.is_first());
}

}  // namespace

std::string run_in(const fs::path& folder) {
  const auto steps = CheckpointStore(folder / "checkpoints").steps();
  const int64_t lines = num_lines(folder / "metrics.jsonl");
  std::string held = lines > 0 ? fmt::format("{} lines of metrics", lines) : "";
  if (!steps.empty()) held += fmt::format("{}checkpoint step_{:06}", held.empty() ? "" : ", ", steps.back());
  if (held.empty() && !list_folder(folder / "rollouts").empty()) held = "rollouts";
  return held;
}

std::string measured_by(const CheckpointConfig& config) {
  return (config.greater_is_better ? "" : "-") + config.metric_for_best_model;
}

void refuse_run_in(const fs::path& folder) {
  if (const std::string held = run_in(folder); !held.empty())
    throw user_error(
        "output_dir = {}: holds a run already ({}); go on with it by --resume, or begin beside it by --new-run",
        folder.string(), held);
}

void name_new_run() {
  if (env(kNewRun)) return;
  set_env(kNewRun, local_time_text("%Y-%m-%d_%H-%M-%S"));
}

RunStart choose_start(const RunWish& wish, Communicator& ranks, Log& log) {
  RunStart start;
  agree(ranks, [&] {
    if (ranks.is_first()) start = decided(wish, log);
  });
  const StartMessage decision =
      broadcast_message(StartMessage{start.folder.string(), start.run, start.goes_on, start.resume}, 0, ranks);
  start.folder = decision.folder;
  start.run = decision.run;
  start.goes_on = decision.goes_on;
  start.resume = decision.resume;
  multiply_bfloat16(ranks.all_reduce_min(multiplies_as_such(start, ranks) ? 1 : 0, "products of bfloat16") == 1);
  multiply_by_onednn(ranks.all_reduce_min(multiplies_float32_so(start, ranks) ? 1 : 0, "products of float32") == 1);
  return start;
}

Json about_checkpoint(const RunWish& wish, const std::string& run) {
  return {{"roll", wish.version},
          {"run", run},
          {"sequences_per_update", wish.sequences_per_update},
          {"measured", wish.measured},
          {"is_long", wish.is_long},
          {kMultipliesBfloat16, multiplies_bfloat16()},
          {kByOnednn, multiplies_by_onednn()}};
}

}  // namespace roll
