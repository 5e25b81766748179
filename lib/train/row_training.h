// Training over rows that are there before the run begins: fine-tuning, distillation from written answers, preference
// optimisation (train/sft.h, train/dpo.h). Each is a RowMethod: its rows as steps, forward passes and a loss for the
// trainer of all steps (step/step_trainer.h).
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
#include "settings/sft_config.h"
#include "step/step_trainer.h"
#include "track/metrics.h"

namespace roll {

/// The sequences of some rows as a step: its facts, and those that are at home on rank `rank` of the world.
using HomeOf = std::function<Distribution(const StepFacts& facts)>;

/// Rows of a run, whatever their form.
struct RowSteps {
  int64_t size = 0;
  uint64_t fingerprint = 0;
  std::function<RlStep(const std::vector<int64_t>& rows, const HomeOf& home_of, int rank)> step_of;
  std::function<std::vector<Json>(const std::vector<int64_t>& rows)> origins_of;  // row and file of each
};
/// `step_of(rows, home_of, rank)` makes a step of rows of type T.
template <class T, class F>
RowSteps row_steps(StoredRows<T> stored, F step_of) {
  const auto rows = std::make_shared<const StoredRows<T>>(std::move(stored));
  return {.size = rows->size(),
          .fingerprint = rows->fingerprint(),
          .step_of = [rows, step_of](const std::vector<int64_t>& numbers, const HomeOf& home_of,
                                     int rank) { return step_of(rows->at(numbers), home_of, rank); },
          .origins_of =
              [rows](const std::vector<int64_t>& numbers) {
                std::vector<Json> origins;
                for (const T& row : rows->at(numbers)) origins.push_back({{"id", row.id}, {"row", row.origin}});
                return origins;
              }};
}
struct RowMethod {
  const SftConfig& config;
  std::string algorithm;      // "supervised fine-tuning": for people
  std::vector<Shown> shown;   // metrics of its own
  StepSettings settings;      // row_settings(), with other roles and their passes where it has any
  RoleSources sources;        // of the policy and these roles
  RowSteps rows, validation;  // `validation`: empty where there is none
  RoleLoss loss;              // of the policy
  std::vector<RolePass> validation_passes;
  /// val/... of a step of all validation rows, on which those passes have run. **Collective** over the policy's ranks.
  std::function<Metrics(const RlStep& step, Mesh& policy)> measure;
};

/// What a method's updates look like to the trainer.
struct RowLoss {
  std::string mask;                          // of tokens that are learnt
  std::vector<std::string> counted_masks{};  // as UpdateSettings has them
  std::vector<WeightRule> weights{};         // likewise
  int64_t sequences_per_row = 1;             // which stay in one micro-batch
};
/// UserError: the rows are fewer than one update needs.
StepSettings row_settings(const SftConfig& config, const RowLoss& loss, int64_t num_rows);
/// The forward pass for log-probs of the policy as it is.
RolePass policy_pass(const SftConfig& config);

/// Makes the method, which loads rows and models' shapes, then runs all updates of the run, each with its validation
/// and checkpoint where they are due. **Collective**. UserError: `load`'s; rows that are not those of the checkpoint.
/// Stopped when a signal came: what was done is saved.
void run_rows(RunPlan plan, const std::function<RowMethod(const RunStart&)>& load, at::Device device,
              Communicator& ranks, Log& log);

}  // namespace roll
