#include "ops/products.h"
#include "settings/checks.h"

namespace roll {

void note_dtype(const WorkerConfig& worker, Checker& check) {
  const auto& dtype = worker.model_args.dtype;
  if (dtype == Dtype::kBf16 && !multiplies_bfloat16())
    check.note(fmt::format("{} = bf16: this CPU has no AMX, so that bf16 saves memory but takes more time than fp32",
                           check.name(dtype)));
  if (dtype == Dtype::kFp16)
    check.note(fmt::format("{} = fp16: only a GPU computes in it; a CPU in fp32 or bf16", check.name(dtype)));
}

void note_dtypes(const Config& config, Checker& check) {
  if (config.actor_train.device_mapping) return;
  note_dtype(config.actor_train, check);
  if (config.uses_reference()) note_dtype(config.reference, check);
  if (config.uses_critic()) note_dtype(config.critic, check);
  for (const auto& [domain, worker] : config.rewards)
    if (worker.has_model()) note_dtype(worker.model, check);
}

}  // namespace roll
