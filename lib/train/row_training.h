// Trains on rows that exist before the run: fine-tuning, distillation from written answers, preference optimisation
// (train/sft.h, train/dpo.h). Each is a RowMethod: it makes steps of its rows and gives StepTrainer
// (step/step_trainer.h) forward passes and a loss.
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

/// Returns the home of the sequences of a step, in world ranks.
using PlanHome = std::function<Distribution(const StepFacts& facts)>;

/// Rows of a run in any form, as steps.
struct RowSteps {
  int64_t size = 0;
  uint64_t fingerprint = 0;
  std::function<RlStep(const std::vector<int64_t>& rows, const PlanHome& plan_home, int rank)> make_step;
  std::function<std::vector<Json>(const std::vector<int64_t>& rows)>
      find_origins;  // id and origin (file and row) of each row
};
/// Wraps rows of type T; `make_step(rows, plan_home, rank)` makes a step and loads the sequences that
/// `plan_home` gives to `rank`.
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

/// Kind of training on rows: its data, passes, loss and validation.
struct RowMethod {
  const RowConfig& config;
  std::string algorithm;      // for users: "supervised fine-tuning"
  std::vector<Shown> shown;   // additional metrics to show
  StepSettings settings;      // row_settings(), plus other roles and their passes
  RoleSources sources;        // models of the policy and those roles
  RowSteps rows, validation;  // `validation` is empty if there is none
  RoleLoss loss;              // policy's loss
  std::vector<RolePass> validation_passes;
  /// Returns metrics val/... of a step of all validation rows after those passes. **Collective** over the policy's
  /// ranks.
  std::function<Metrics(const RlStep& step, Mesh& policy)> measure;
};

/// Loss settings that a method gives the trainer.
struct RowLoss {
  std::string mask;                          // tokens that are trained on
  std::vector<std::string> counted_masks{};  // see UpdateSettings
  std::vector<WeightRule> weights{};         // see UpdateSettings
  int64_t sequences_per_row = 1;             // sequences of one row stay in one micro-batch
};
/// Returns the step settings for training on rows. UserError: there are fewer rows than one update needs.
StepSettings row_settings(const RowConfig& config, const RowLoss& loss, int64_t num_rows);
/// Returns the model in training, from the checkpoint if the run resumes.
RoleSource trained_source(const RowConfig& config, const RunStart& start, at::Device device);
/// Returns the forward pass for the current policy's log-probs.
RolePass policy_pass(const RowConfig& config);

/// Plans a run whose updates are mini-batches of rows.
template <class C>
RunPlan plan_rows(const C& config, const RunFlags& flags, Communicator& ranks, Log& log) {
  return plan_run(config, flags, config.trained.backend_timeout * 60,
                  {{config.trained_key, config.trained.mini_batch()}}, ranks, log);
}
/// Makes the method, which loads rows and model shapes, then runs all updates with validations and checkpoints as due.
/// **Collective**. UserError: `load` fails, or the rows differ from the checkpoint's. Throws Stopped after a signal;
/// finished work is saved.
void run_rows(RunPlan plan, const std::function<RowMethod(const RunStart&)>& load, at::Device device,
              Communicator& ranks, Log& log);

}  // namespace roll
