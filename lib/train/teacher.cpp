#include "train/teacher.h"

#include <ATen/ATen.h>

#include "checkpoint/hub_cache.h"
#include "model/device.h"
#include "model/experts.h"
#include "model/log_probs.h"
#include "model/model_folder.h"
#include "settings/placement.h"
#include "step/forward.h"
#include "step/roles.h"
#include "step/step_settings.h"
#include "train/row_training.h"

namespace roll {

namespace {

Transformer load_teacher(const WorkerConfig& worker, at::Device device, Mesh& mesh) {
  const std::filesystem::path folder = model_folder(worker.model_args.model_name_or_path.value());
  return Transformer::load(folder, device, model_dtype(worker.model_args, device),
                           model_parallel(mesh, stages_of(worker, folder)), architectures());
}

}  // namespace

Teacher::Teacher(const DistillConfig& config, int64_t vocabulary, at::Device device, Meshes& meshes)
    : config_(config),
      vocabulary_(vocabulary),
      num_tokens_(config.logits_topk > 0 ? config.logits_topk : vocabulary),
      mesh_(meshes.of(mesh_shape(config.teacher))),
      model_(load_teacher(config.teacher, device, mesh_).for_length(config.sequence_length)) {}

/// [2k, T] of a micro-batch.
at::Tensor Teacher::compute(const Batch& micro_batch) const {
  const auto [logits, ids] =
      token_top_logits(model_, micro_batch.tokens, num_tokens_, vocabulary_, micro_batch.host_mask("labels_mask"));
  if (!logits.defined()) return {};
  const DivergenceArgs& args = config_.divergence;
  const at::Tensor log_probs = at::log_softmax(logits / (args.kd_temperature * args.teacher_temperature), -1);
  return at::cat({log_probs, ids.to(log_probs.scalar_type())}, 1).t();
}

at::Tensor Teacher::taught(const Batch& batch, const Distribution& home, Communicator& ranks,
                           const Phase& phase) const {
  const BatchRule rule = batch_rule(config_.teacher, Stage::kForward).with(workload_of(model_.spec()));
  const std::vector<int64_t> lengths = lengths_of(batch);
  const std::vector<Partition> plans = plan_ranks(lengths, rule, mesh_.dp_size());
  const Distribution there{mesh_groups(ranks.size(), mesh_.shape()), shares_of({plans})};
  const Batch share = select(batch, there.share_of(ranks.rank()));
  const ForwardPass forward = forward_pass(model_, [this](const Batch& micro_batch) { return compute(micro_batch); });
  const at::Tensor found = forward_share(share, places_in_share(plans[mesh_.place().dp]), model_.device(),
                                         model_parallel(mesh_), forward, phase);
  const at::Tensor column = found.dim() == 2 ? found.t().contiguous() : at::zeros({0, 2 * num_tokens_});
  return redistribute({column}, lengths, there, home, ranks, "what the teacher says").front();
}

}  // namespace roll
