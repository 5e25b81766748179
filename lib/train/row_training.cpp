#include "train/row_training.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "dist/merged_metrics.h"
#include "job/restart.h"
#include "model/model_folder.h"
#include "pipeline/split_rule.h"
#include "process/stop.h"
#include "records/rollout_record.h"
#include "step/step_metrics.h"

namespace roll {

std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::string write_origins(const RunFolder& folder, int64_t update, const std::vector<Json>& rows) {
  std::string lines;
  for (const Json& row : rows) lines += to_line(row) + "\n";
  const auto file = numbered(folder.skipped(), "step_", update, ".jsonl");
  make_folder(file.parent_path());
  write_file_atomic(file, lines);
  return file.string();
}

StageSplit stages_of(const WorkerConfig& worker, const std::filesystem::path& folder) {
  return stage_split(worker.strategy_args.strategy_config, read_spec(folder).num_layers);
}

std::string fingerprint_text(uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

void run_row_training(const RowTraining& training, Run& run, MemoryWatch& memory, Communicator& ranks, Log& log) {
  if (const std::string note = restart_note(); !note.empty()) log.info("{}", note);
  for (int64_t update = run.first_step(); update <= run.last_step(); ++update) {
    ranks.set_step(update);
    std::optional<OperatorTrace> timeline = run.timeline_of(update);
    Stopwatch watch;
    memory.begin("train");
    Metrics metrics = training.train(update);
    add_traffic_metrics(ranks.traffic(), metrics);
    metrics.add("time/step_total", watch.seconds());
    if (timeline) timeline->save();
    if (training.validate && run.is_due(update, training.eval_steps)) {
      memory.begin("validate");
      metrics.merge(training.validate(update));
    }
    metrics.merge(merge_over_ranks(memory.take(), ranks));
    run.track(update, metrics);
    memory.begin("save");
    run.save_if_due(update, training.state);
    if (const auto kind = stop_agreed(ranks)) run.stop(Stopped(*kind), update, training.state);
  }
  run.finish();
  log.say("weights: {}", (run.folder().checkpoints() / "latest/actor").string());
}

}  // namespace roll
