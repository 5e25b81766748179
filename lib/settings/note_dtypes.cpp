#include "ops/products.h"
#include "settings/checks.h"
#include "settings/judging_models.h"
#include "settings/placement.h"

namespace roll {

void note_dtype(const ModelArgs& args, Checker& check) {
  const auto& dtype = args.dtype;
  if (dtype == Dtype::kBf16 && !multiplies_bfloat16())
    check.note(fmt::format("{} = bf16: this CPU has no AMX, so that bf16 saves memory but takes more time than fp32",
                           check.name(dtype)));
  if (dtype == Dtype::kFp16)
    check.note(fmt::format("{} = fp16: only a GPU computes in it; a CPU in fp32 or bf16", check.name(dtype)));
}

void note_dtypes(const Config& config, Checker& check) {
  if (config.actor_train.device_mapping) return;
  note_dtype(config.actor_train.model_args, check);
  for (const auto& [name, worker] : reference_roles(config)) note_dtype(worker->model_args, check);
  if (config.uses_critic()) note_dtype(config.critic.model_args, check);
  for (const JudgingModel& judge : judging_models(config)) note_dtype(judge.worker->model_args, check);
}

}  // namespace roll
