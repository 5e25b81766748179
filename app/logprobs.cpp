#include <CLI/CLI.hpp>
#include <memory>

#include "app/cli/field_flags.h"
#include "app/cli/max_length.h"
#include "app/cli/model_notes.h"
#include "app/cli/streams.h"
#include "app/commands.h"
#include "checkpoint/hub_cache.h"
#include "model/device.h"
#include "model/id_rows.h"

namespace roll {

namespace {

struct LogProbFlags {
  std::string model, input = "-", output = "-", device = "auto", dtype = "auto";
  LogProbsJob job;
  int64_t max_length = 0;
};

void run(LogProbFlags& flags) {
  flags.model = model_folder(flags.model, "--model");
  print_model_notes(flags.model);
  const at::Device device = parse_device(flags.device, "--device");
  use_device(device);
  const at::ScalarType dtype = parse_compute_dtype(flags.dtype, device, "--dtype");
  Input input(flags.input);
  const Transformer model =
      Transformer::load(flags.model, device, dtype).for_length(checked_length(flags.model, flags.max_length));
  Output output(flags.output, input);
  write_log_probs(model, input.stream(), input.name(), output.stream(), flags.job);
  output.close();
}

}  // namespace

void add_logprobs(CLI::App& app) {
  auto flags = std::make_shared<LogProbFlags>();
  CLI::App* sub =
      app.add_subcommand("logprobs", "log-probs (nats) of given tokens: {\"ids\":[...]} -> {\"log_probs\":[...]}");
  sub->add_option("--model", flags->model,
                  "model folder or GGUF file, a run's folder (its latest checkpoint), or a Hub name in the local cache")
      ->required();
  sub->add_option("--input", flags->input, "JSON lines with \"ids\"; - is standard input")->capture_default_str();
  sub->add_option("--out", flags->output,
                  "JSON lines with \"log_probs\" (one fewer than \"ids\"); - is standard output")
      ->capture_default_str();
  sub->add_option("--device", flags->device, "cpu, cuda, cuda:N, or auto: cuda if there is a GPU")
      ->capture_default_str();
  sub->add_option("--dtype", flags->dtype, "auto, fp32, bf16 or fp16; auto: fp32 on the CPU, bf16 on a GPU")
      ->capture_default_str();
  add_max_length(*sub, flags->max_length, "the model's positions");
  add_field_flags(*sub, flags->job);
  sub->callback([flags] { run(*flags); });
}

}  // namespace roll
