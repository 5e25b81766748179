#include "forecast/length_trial.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/clock.h"
#include "base/scratch_folder.h"
#include "checkpoint/hub_cache.h"
#include "environment/types.h"
#include "forecast/step_source.h"
#include "job/join.h"
#include "model/device.h"
#include "model/model_folder.h"
#include "model/transformer.h"
#include "rollout/engine.h"
#include "text/tokenizer.h"
#include "train/rlvr.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr double kMostBytes = 4e9;         // bytes of weights; more would load too slowly
constexpr int64_t kMostTrajectories = 32;  // but at least one group

/// Returns the policy's folder if its weights are present and small enough.
std::optional<fs::path> tried_folder(const Config& config, at::ScalarType dtype) {
  const auto folder = find_model_folder(*config.actor_train.model_args.model_name_or_path);
  if (!folder) return {};
  const double bytes =
      static_cast<double>(read_spec(*folder).num_parameters()) * static_cast<double>(c10::elementSize(dtype));
  return bytes > kMostBytes ? std::nullopt : folder;
}

}  // namespace

bool has_ended(FinishReason reason) {
  return reason == FinishReason::kStop || reason == FinishReason::kStopString;
}

double expected_length(double drawn, int64_t num_ended, int64_t longest) {
  if (num_ended == 0) return static_cast<double>(longest);
  const double rate = static_cast<double>(num_ended) / drawn;
  return std::max(1.0, -std::expm1(-rate * static_cast<double>(longest)) / rate);
}

std::optional<LengthTrial> try_lengths(const Config& config, const std::vector<std::vector<int64_t>>& prompts,
                                       double seconds) {
  const at::Device device = config.actor_infer.device_mapping ? at::kCUDA : at::kCPU;
  const at::ScalarType dtype = model_dtype(config.actor_train.model_args, device);
  const auto folder = tried_folder(config, dtype);
  if (!folder || prompts.empty()) return {};
  const Tokenizer tokenizer = Tokenizer::load(*folder);
  const Transformer model = Transformer::load(*folder, device, dtype);
  SamplingParams params{.generating = sampling_settings(config.actor_infer.generating_args),
                        .eos_ids = tokenizer.eos_ids(),
                        .seed = static_cast<uint64_t>(config.seed),
                        .max_running_requests = config.max_running_requests};
  params.generating.max_new_tokens = config.response_length.value();
  std::vector<GenerationRequest> requests;
  for (const std::vector<int64_t>& prompt : prompts)
    requests.push_back({.prompt_ids = prompt, .sequence_id = requests.size()});
  Engine engine(model, tokenizer, limits_for(requests, params));
  const Stopwatch watch;
  const auto responses =
      engine.generate(requests, params, {}, {.should_stop = [&] { return watch.seconds() > seconds; }});
  LengthTrial trial{.num_responses = std::ssize(responses)};
  double drawn = 0;
  for (const Generation& response : responses) {
    drawn += static_cast<double>(response.ids.size());
    trial.num_ended += has_ended(response.finish_reason);
  }
  trial.mean = expected_length(drawn, trial.num_ended, config.response_length.value());
  return trial;
}

std::optional<ThinStep> try_trajectories(const CheckedConfig<Config>& checked) {
  const Config& config = checked.config;
  for (const std::string& tag : config.agentic.train_env_manager.tags)
    if (const auto& type = config.agentic.custom_envs.at(tag).env_type; type->is_slow || type->is_program) return {};
  const bool on_gpu = config.actor_infer.device_mapping.has_value();
  const at::Device device = on_gpu ? at::kCUDA : at::kCPU;
  if (!tried_folder(config, model_dtype(config.actor_train.model_args, device))) return {};
  const int64_t group = config.num_return_sequences_in_group;
  const int64_t trajectories = std::clamp(kMostTrajectories / group * group, group, config.sequences_per_step());
  const ScratchFolder folder("roll_forecast_");
  std::vector<std::string> overrides = checked.text.overrides;
  overrides.insert(overrides.end(),
                   {"rollout_only=true", "max_steps=1", "track_with=[]", "save_steps=0", "resume_from_checkpoint=false",
                    "rollout_dump_dir=null", "logging_dir=null", fmt::format("rollout_batch_size={}", trajectories),
                    "output_dir=" + folder.path().string()});
  const Config sampling = load_config_text(checked.text.yaml, checked.text.origin, overrides,
                                           {.num_ranks = on_gpu ? std::nullopt : std::optional<int64_t>(1)})
                              .config;
  std::ostringstream discarded;
  Log log(discarded, discarded, {.rank = 0, .num_ranks = 1, .terminal = {}});
  const auto single_rank = make_communicator({.kind = Transport::kSingle});
  run_rlvr(sampling, {}, device, *single_rank, log);
  return recorded_step(folder.path(), config, 1);
}

}  // namespace roll
