// Trains on rows that exist before the run: fine-tuning and distillation from written answers (sft.cpp), and preference
// optimisation (dpo.cpp). Each of these fills a RowMethod, which makes steps of its rows and gives StepTrainer
// (step/step_trainer.h) forward passes and a loss. A row is one example of the data. A step is one optimizer update on
// some rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/row_store.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/row_config.h"
#include "step/step_trainer.h"
#include "track/metrics.h"

namespace roll {

/// Returns RlStep::home of a step: the world ranks that train on each of its sequences.
using PlanHome = std::function<Distribution(const StepFacts& facts)>;

/// Rows of a run as sources of steps, independent of the rows' type.
struct RowSteps {
  int64_t size = 0;          // number of rows; 0: none
  uint64_t fingerprint = 0;  // hash of all rows in order; a resumed run must have the same
  /// Makes a step of these rows (indices, over all ranks). Its experience holds the sequences that plan_home gives to
  /// `rank`, the caller's world rank. The caller sets the step's number and source.
  std::function<RlStep(const std::vector<int64_t>& rows, const PlanHome& plan_home, int rank)> make_step;
  /// Returns {"id", "row"} of each of these rows (indices); "row" is the row's file and line.
  std::function<std::vector<Json>(const std::vector<int64_t>& rows)> find_origins;
};
/// Returns the RowSteps of rows of type T, which has members id and origin. make_step(rows, plan_home, rank): as
/// RowSteps::make_step, but `rows` are the rows themselves, a vector of T.
template <class T, class F>
RowSteps row_steps(StoredRows<T> stored, F make_step) {
  const auto rows = std::make_shared<const StoredRows<T>>(std::move(stored));
  return {.size = rows->size(),
          .fingerprint = rows->fingerprint(),
          .make_step = [rows, make_step](const std::vector<int64_t>& numbers, const PlanHome& plan_home,
                                         int rank) { return make_step(rows->at(numbers), plan_home, rank); },
          .find_origins =
              [rows](const std::vector<int64_t>& numbers) {
                std::vector<Json> origins;
                for (const T& row : rows->at(numbers)) origins.push_back({{"id", row.id}, {"row", row.origin}});
                return origins;
              }};
}

/// A kind of training on rows, with its data, models and loss.
struct RowMethod {
  const RowConfig& config;                  // must outlive the method
  std::string algorithm;                    // name for users: "supervised fine-tuning"
  std::vector<Shown> shown;                 // more metrics for the terminal; empty: gradient norm and learning rate
  StepSettings settings;                    // row_settings(), plus a teacher or reference with its pass
  RoleSources sources;                      // models of the policy and of this teacher or reference
  RowSteps rows, validation;                // validation.size is 0 if the run has no validation
  RoleLoss loss;                            // the policy's loss
  std::vector<RolePass> validation_passes;  // forward passes that a validation needs
  /// Returns the metrics val/... of `step`, which holds all validation rows and the results of validation_passes.
  /// policy: the policy's mesh. **Collective** over the policy's ranks.
  std::function<Metrics(const RlStep& step, Mesh& policy)> measure;
};

/// Settings of a method's loss, for row_settings().
struct RowLoss {
  std::string mask;                          // name of the mask of trained tokens, UpdateSettings::loss_mask
  std::vector<std::string> counted_masks{};  // UpdateSettings::counted_masks
  std::vector<WeightRule> weights{};         // UpdateSettings::weights
  int64_t sequences_per_row = 1;             // 2 for DPO's pairs; sequences of one row stay in one micro-batch
};
/// Returns the settings for training only the policy on num_rows rows. Throws UserError if the run would have no update
/// (count_updates()).
StepSettings row_settings(const RowConfig& config, const RowLoss& loss, int64_t num_rows);
/// Returns the source of the trained model: the configured folder, or the checkpoint if the run resumes.
RoleSource trained_source(const RowConfig& config, const RunStart& start, at::Device device);
/// Returns a pass for validations that stores the policy's current log-probs as old_log_probs.
RolePass policy_pass(const RowConfig& config);

/// Decides how the run starts: its folder, and whether it resumes (run/run_start.h). C: SftConfig, DpoConfig or
/// DistillConfig. **Collective** over `ranks`.
template <class C>
RunPlan plan_rows(const C& config, const RunFlags& flags, Communicator& ranks, Log& log) {
  return plan_run(config, flags, config.trained.backend_timeout * 60,
                  {{config.trained_key, config.trained.mini_batch()}}, ranks, log);
}
/// Calls `load` on each rank, which makes the method and loads its rows, then runs all updates with validations and
/// checkpoints. plan: result of plan_rows(). Throws UserError if `load` does on a rank, or the rows differ from those
/// of the checkpoint; Stopped after a signal, when finished work is saved. **Collective** over `ranks`.
void run_rows(RunPlan plan, const std::function<RowMethod(const RunStart&)>& load, at::Device device,
              Communicator& ranks, Log& log);

}  // namespace roll
