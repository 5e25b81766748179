#include <algorithm>
#include <vector>

#include "ops/products.h"
#include "settings/checks.h"
#include "settings/judging_models.h"
#include "settings/placement.h"

namespace roll {

void check_dtype(const ModelArgs& args, bool on_gpu, Checker& check) {
  const auto& dtype = args.dtype;
  check.require(args.weight_bits() == 0, dtype,
                "only a sampler (actor_infer) can use weights in 8 or 4 bits; choose fp32 or bf16");
  if (on_gpu) return;
  if (dtype == Dtype::kBf16 && !multiplies_bfloat16())
    check.note(
        fmt::format("{}: this CPU does not multiply bf16 faster than fp32, so bf16 saves memory but takes more time",
                    check.name(dtype)));
  if (dtype == Dtype::kFp16)
    check.note(fmt::format("{}: only a GPU computes in fp16; a CPU computes in fp32 or bf16", check.name(dtype)));
}

namespace {

/// Notes that the sampler's dtype is ignored: it reads the trained weights, unless it rounds them.
void note_sampler_dtype(const Config& config, bool on_gpu, Checker& check) {
  const auto& sampler = config.actor_infer.model_args.dtype;
  const Dtype trained = config.actor_train.model_args.dtype.value_or(on_gpu ? Dtype::kBf16 : Dtype::kFp32);
  if (sampler && *sampler != trained && config.actor_infer.model_args.weight_bits() == 0)
    check.note(fmt::format("{}: has no effect; the sampler uses the trained weights, which are {}", check.name(sampler),
                           enum_name(trained)));
}

}  // namespace

void check_dtypes(const Config& config, Checker& check) {
  const bool on_gpu = config.actor_train.device_mapping.has_value();
  note_sampler_dtype(config, on_gpu, check);
  check_dtype(config.actor_train.model_args, on_gpu, check);
  for (const auto& [name, worker] : learning_roles(config))
    if (worker != &config.actor_train) check_dtype(worker->model_args, on_gpu, check);
  for (const JudgingModel& judge : judging_models(config)) check_dtype(judge.worker->model_args, on_gpu, check);
  if (config.actor_infer.model_args.weight_bits() > 0 && on_gpu)
    check.note(fmt::format("{}: only a CPU samples with rounded weights; on a GPU the run ends at its start",
                           check.name(config.actor_infer.model_args.dtype)));
}

bool can_run_on_cpu(const Config& config) {
  std::vector<const WorkerConfig*> workers = {&config.actor_train};
  for (const auto& [name, worker] : learning_roles(config)) workers.push_back(worker);
  for (const JudgingModel& judge : judging_models(config)) workers.push_back(judge.worker);
  return std::ranges::none_of(workers, [](const auto* worker) { return worker->model_args.dtype == Dtype::kFp16; });
}

}  // namespace roll
