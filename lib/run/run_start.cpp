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

fs::path choose_folder(const RunRequest& request) {
  if (request.new_run) return fs::path(request.output_dir) / env(kNewRun).value_or("run");
  const fs::path latest = fs::path(request.output_dir) / "latest";
  std::error_code ec;
  const bool is_link = fs::is_symlink(latest, ec) && !describe_run_in(latest).empty();
  return !is_off(request.resume_from_checkpoint) && is_link && describe_run_in(request.output_dir).empty()
             ? fs::path(request.output_dir) / fs::read_symlink(latest)
             : fs::path(request.output_dir);
}

/// Returns the newest sound checkpoint in a folder; warns of faults in newer ones.
std::optional<fs::path> find_newest(const fs::path& checkpoints, Log& log) {
  const CheckpointStore store(checkpoints);
  const auto step = store.newest_sound([&](const std::string& problem) { log.warn("{}", problem); });
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
    const auto [damage, unknown_files] = find_checkpoint_faults(path);
    if (!damage.empty()) refuse("the checkpoint is damaged: " + damage.front());
    for (const std::string& unknown_file : unknown_files)
      log.warn("checkpoint {}: {}: nothing reads it", path, unknown_file);
    return path;
  }
  for (const fs::path& folder : {fs::path(path) / "checkpoints", fs::path(path)})
    if (const auto newest = find_newest(folder, log)) return *newest;
  refuse("holds no complete checkpoint");
  return {};
}

ResumePoint resume_point(const fs::path& checkpoint, const Manifest& manifest, const RunRequest& request, Log& log) {
  const Json& about = manifest.about;
  ResumePoint point{fs::canonical(checkpoint), manifest.step, {}, {}};
  const Json measured = about.value("measured", Json(request.measured));
  if (measured != request.measured) {
    log.warn("metric_for_best_model was {} and is now {}: the best checkpoints are chosen anew", to_line(measured),
             to_line(request.measured));
    return point;
  }
  const auto best = about.find("best_metric");
  if (best != about.end() && best->is_number()) point.best_metric = best->get<double>();
  point.early_stop = about.value("early_stopping", Json());
  return point;
}

void refuse_changes(const RunRequest& request, const fs::path& checkpoint, const Json& about, Log& log) {
  const fs::path saved = checkpoint / "config.resolved.yaml";
  std::vector<ConfigChange> changes = config_changes(read_file(saved), saved.string(), request.resolved_config);
  const auto old_sequences = about.find("sequences_per_update");
  for (const auto& [role, new_value] : request.sequences_per_update) {
    if (old_sequences == about.end() || !old_sequences->is_object() || !old_sequences->contains(role) ||
        (*old_sequences)[role] == new_value)
      continue;
    changes.push_back(
        {role + ": sequences per update, over all ranks", to_line((*old_sequences)[role]), std::to_string(new_value)});
  }
  if (const Json was_long = about.value("is_long", Json(request.is_long)); was_long != request.is_long) {
    const auto factor_list = [](bool is_long) { return is_long ? "long_factor" : "short_factor"; };
    changes.push_back({"RoPE factors (LongRoPE), chosen by the larger of sequence_length and val_sequence_length",
                       factor_list(was_long == true), factor_list(request.is_long)});
  }
  if (changes.empty()) return;
  std::string list;
  for (const auto& [key, before, new_value] : changes)
    list += fmt::format("\n  {}: {} -> {}", key, before.empty() ? "(absent)" : before,
                        new_value.empty() ? "(absent)" : new_value);
  if (!request.allow_config_change)
    throw user_error(
        "the configuration is not the one that {} was trained with:{}\nset these keys back, or resume anyway with "
        "--allow-config-change",
        checkpoint.string(), list);
  log.warn("resuming with another configuration than {} was trained with:{}", checkpoint.string(), list);
}

/// Returns the run named in the folder's run.json, or a new id.
std::string read_run_id(const fs::path& folder) {
  if (!is_there(folder / kRunFile)) return new_id();
  const Json about = read_json(folder / kRunFile);
  const auto run = about.is_object() ? about.find("run") : about.end();
  return about.is_object() && run != about.end() && run->is_string() ? run->get<std::string>() : new_id();
}

bool is_below(const fs::path& path, const fs::path& folder) {
  const auto relative = fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(folder));
  return !relative.empty() && *relative.begin() != "..";
}

RunStart decide_start(const RunRequest& request, Log& log) {
  const bool restarts = env("ROLL_RESTART").has_value();
  if (request.new_run && !is_off(request.resume_from_checkpoint))
    throw user_error("--new-run starts a new run, but resume_from_checkpoint = {} continues an old one; leave one out",
                     request.resume_from_checkpoint);
  RunStart start{.folder = choose_folder(request), .run = {}, .resume = {}, .continues_run = false, .lock = {}};
  const std::string contents = describe_run_in(start.folder);
  const std::string& resume_key = request.resume_from_checkpoint;
  std::optional<fs::path> checkpoint;
  if (!is_off(resume_key) && resume_key != "true") checkpoint = checkpoint_at(resume_key, log);
  const bool is_in_folder = checkpoint && is_below(*checkpoint, start.folder);
  start.continues_run = !contents.empty() && (restarts || resume_key == "true" || is_in_folder);
  if (!start.continues_run) refuse_run_in(start.folder);
  if (start.continues_run) start.lock = lock_run_folder(start.folder);
  start.run = start.continues_run ? read_run_id(start.folder) : new_id();
  if (start.continues_run && (restarts || !is_in_folder))
    if (const auto newest = find_newest(start.folder / "checkpoints", log)) checkpoint = newest;
  if (checkpoint) {
    const Manifest manifest = read_manifest(*checkpoint);
    refuse_changes(request, *checkpoint, manifest.about, log);
    start.resume = resume_point(*checkpoint, manifest, request, log);
    start.multiplied_bfloat16 = manifest.about.value(kMultipliesBfloat16, Json(multiplies_bfloat16())) == true;
    start.multiplied_by_onednn = manifest.about.value(kByOnednn, Json(false)) == true;
  }
  return start;
}

/// Keeps a run's arithmetic bit for bit, unless this processor is not for it.
bool keeps_bfloat16_products(const RunStart& start, const Communicator& ranks) {
  if (!start.resume) return multiplies_bfloat16();
  return has_bfloat16_units() && (start.multiplied_bfloat16 || !ranks.is_first());
}

bool keeps_onednn_products(const RunStart& start, const Communicator& ranks) {
  if (!start.resume) return multiplies_by_onednn();
  return is_for_onednn() && (start.multiplied_by_onednn || !ranks.is_first());
}

}  // namespace

std::string describe_run_in(const fs::path& folder) {
  const auto steps = CheckpointStore(folder / "checkpoints").steps();
  const int64_t lines = num_lines(folder / "metrics.jsonl");
  std::string contents = lines > 0 ? fmt::format("{} lines of metrics", lines) : "";
  if (!steps.empty()) contents += fmt::format("{}checkpoint step_{:06}", contents.empty() ? "" : ", ", steps.back());
  if (contents.empty() && !list_folder(folder / "rollouts").empty()) contents = "rollouts";
  return contents;
}

std::string measured_by(const CheckpointConfig& config) {
  return (config.greater_is_better ? "" : "-") + config.metric_for_best_model;
}

void refuse_run_in(const fs::path& folder) {
  if (const std::string contents = describe_run_in(folder); !contents.empty())
    throw user_error(
        "output_dir = {}: already holds a run ({}); continue it with --resume, or start another one with --new-run",
        folder.string(), contents);
}

void name_new_run() {
  if (env(kNewRun)) return;
  set_env(kNewRun, local_time_text("%Y-%m-%d_%H-%M-%S"));
}

RunStart choose_start(const RunRequest& request, Communicator& ranks, Log& log) {
  RunStart start;
  agree(ranks, [&] {
    if (ranks.is_first()) start = decide_start(request, log);
  });
  const StartMessage decision =
      broadcast_message(StartMessage{start.folder.string(), start.run, start.continues_run, start.resume}, 0, ranks);
  start.folder = decision.folder;
  start.run = decision.run;
  start.continues_run = decision.goes_on;
  start.resume = decision.resume;
  multiply_bfloat16(ranks.all_reduce_min(keeps_bfloat16_products(start, ranks) ? 1 : 0, "products of bfloat16") == 1);
  multiply_by_onednn(ranks.all_reduce_min(keeps_onednn_products(start, ranks) ? 1 : 0, "products of float32") == 1);
  return start;
}

Json about_checkpoint(const RunRequest& request, const std::string& run) {
  return {{"roll", request.version},
          {"run", run},
          {"sequences_per_update", request.sequences_per_update},
          {"measured", request.measured},
          {"is_long", request.is_long},
          {kMultipliesBfloat16, multiplies_bfloat16()},
          {kByOnednn, multiplies_by_onednn()}};
}

}  // namespace roll
