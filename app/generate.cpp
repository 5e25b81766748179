// roll generate: JSON lines of prompts -> responses with their log-probs, in the order of the input.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "app/commands.h"
#include "app/field_flags.h"
#include "app/streams.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/stop.h"
#include "job/threads.h"
#include "model/device.h"
#include "model/transformer.h"
#include "rollout/engine.h"
#include "rollout/prompt_lines.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "track/progress.h"

namespace roll {

namespace {

struct Flags {
  std::string model, input = "-", output = "-", template_name = "native", device = "cpu", dtype = "auto";
  int64_t num_responses = 1, kv_cache_mib = 0, page_size = 16;
  bool keeps_special = false;
  SamplingParams sampling;

  Flags() {
    sampling.seed = 42;
    sampling.generating.max_new_tokens = 256;
    sampling.generating.temperature = 1;
    sampling.generating.top_p = 1;
    sampling.generating.top_k = 0;
  }
};

/// A response's random numbers are named by its line and its number within the line, so that `-n 8` begins with the
/// same four responses as `-n 4`.
constexpr int64_t kMaxResponses = 1 << 16;

std::vector<GenerationRequest> requests_of(const std::vector<PromptLine>& lines, int64_t num_responses) {
  std::vector<GenerationRequest> requests;
  for (size_t line = 0; line < lines.size(); ++line) {
    const auto& [ids, generating, seed] = lines[line];
    for (int64_t i = 0; i < num_responses; ++i)
      requests.push_back({.prompt_ids = ids,
                          .sequence_id = line * kMaxResponses + static_cast<uint64_t>(i),
                          .generating = generating,
                          .seed = seed});
  }
  return requests;
}

/// Written as soon as all earlier ones are.
class OrderedLines {
 public:
  OrderedLines(std::ostream& out, size_t count) : out_(out), lines_(count) {}
  void set(int64_t index, std::string line) {
    lines_[index] = std::move(line);
    for (; next_ < lines_.size() && !lines_[next_].empty(); lines_[next_++] = "") out_ << lines_[next_] << '\n';
    out_.flush();
  }

 private:
  std::ostream& out_;
  std::vector<std::string> lines_;
  size_t next_ = 0;
};

std::string line_of(const GenerationRequest& request, const Generation& generation) {
  Json log_probs = Json::array();
  for (const float x : generation.log_probs) log_probs.push_back(json_float(x));
  return to_line({{"prompt_ids", request.prompt_ids},
                  {"ids", generation.ids},
                  {"text", generation.text},
                  {"log_probs", log_probs},
                  {"finish_reason", finish_reason_name(generation.finish_reason)}});
}

std::string text_of(const SamplerCounts& counts, double seconds) {
  return fmt::format(
      "{:.2f} s: {:.0f} response tokens/s; {} prompt tokens computed, {} shared; "
      "{:.0f} % of {} slots busy; {} of {} KV pages used; {} evictions",
      seconds, static_cast<double>(counts.drawn) / seconds, counts.prompt_tokens, counts.shared_tokens,
      100 * static_cast<double>(counts.decoded) / static_cast<double>(std::max<int64_t>(1, counts.slot_steps)),
      counts.num_slots, counts.most_pages, counts.num_pages, counts.evictions);
}

void check(const Flags& flags) {
  check_sampling(flags.sampling);
  if (flags.num_responses < 1 || flags.num_responses > kMaxResponses)
    throw user_error("-n = {}: must be within 1 .. {}", flags.num_responses, kMaxResponses);
  if (flags.page_size < 8 || flags.page_size > 128 || flags.page_size % 8 != 0)
    throw user_error("--block-size = {}: must be a multiple of 8 within 8 .. 128", flags.page_size);
  if (flags.kv_cache_mib < 0) throw user_error("--kv-cache-mib = {}: must be at least 0", flags.kv_cache_mib);
}

void run(Flags flags) {
  flags.sampling.generating.skip_special_tokens = !flags.keeps_special;
  check(flags);
  const at::Device device = parse_device(flags.device, "--device");
  use_device(device);
  const at::ScalarType dtype = parse_compute_dtype(flags.dtype, device, "--dtype");
  Input input(flags.input);
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  const Transformer model = Transformer::load(flags.model, device, dtype);
  flags.sampling.eos_ids = tokenizer.eos_ids();
  const auto requests = requests_of(read_prompt_lines(input.stream(), input.name(), tokenizer,
                                                      {.model_folder = flags.model,
                                                       .template_name = flags.template_name,
                                                       .vocab_size = model.spec().vocab_size,
                                                       .max_tokens = model.spec().max_positions - 1,
                                                       .generating = flags.sampling.generating}),
                                    flags.num_responses);
  Output output(flags.output, input);
  catch_stop_signals();  // what is done by then is written
  OrderedLines lines(output.stream(), requests.size());
  Log log(std::cerr, std::cerr, {.rank = 0, .num_ranks = 1, .terminal = terminal_of(2)});
  log.info("{}", threads_text());
  Progress progress(log, "generate", std::ssize(requests), "responses");
  const auto on_done = [&](int64_t index, const Generation& generation) {
    if (generation.finish_reason == FinishReason::kAbort) return;
    lines.set(index, line_of(requests[index], generation));
    progress.advance();
  };
  SamplerCounts counts;
  const Stopwatch watch;
  if (!requests.empty()) {
    EngineLimits limits = limits_for(requests, flags.sampling);
    limits.kv_cache_bytes = flags.kv_cache_mib << 20, limits.page_size = flags.page_size;
    Engine(model, tokenizer, limits)
        .generate(requests, flags.sampling, on_done,
                  {.should_stop = [] { return stop_wish().has_value(); }, .counts = &counts});
  }
  output.close();
  log.info("{}", text_of(counts, watch.seconds()));
  throw_if_stopped();
}

void add_sampling_flags(CLI::App& sub, Flags& flags) {
  GeneratingArgs& args = flags.sampling.generating;
  add_field_flags(
      sub, args,
      {"stop_strings", "include_stop_str_in_output", "skip_special_tokens", "num_return_sequences", "do_sample"});
  sub.add_option("--seed", flags.sampling.seed, "names the random numbers: one seed, one result")
      ->capture_default_str();
  sub.add_option("-n", flags.num_responses, "responses per prompt")->capture_default_str();
  sub.add_flag("--ignore-eos", flags.sampling.ignore_eos, "go on after end tokens");
  sub.add_option("--stop", args.stop_strings, "end a response at this text (may be given several times)")
      ->allow_extra_args(false);
  sub.add_flag("--include-stop,!--exclude-stop", args.include_stop_str_in_output,
               "the stop text stays in \"text\" (default)");
  sub.add_flag("--keep-special", flags.keeps_special, "\"text\" shows special tokens");
}

}  // namespace

void add_generate(CLI::App& app) {
  auto flags = std::make_shared<Flags>();
  CLI::App* sub = app.add_subcommand("generate",
                                     "Sample responses: {\"prompt\"} | {\"messages\"} | {\"ids\"} -> {\"prompt_ids\", "
                                     "\"ids\", \"text\", \"log_probs\", "
                                     "\"finish_reason\"}");
  sub->footer(
      "The sampling flags alone decide: generation_config.json only gives the end tokens. A line's own\n"
      "\"sampling\": {\"temperature\": 0.7, \"max_new_tokens\": 20, \"seed\": 3} decides for that line.\n"
      "log_probs are log_softmax(logits / temperature) of each id, in nats, before penalties and truncation.");
  sub->add_option("--model", flags->model, "Hugging Face model folder")->required();
  sub->add_option("--input", flags->input, "JSON lines; - is standard input")->capture_default_str();
  sub->add_option("--output", flags->output, "JSON lines in the order of the input; - is standard output")
      ->capture_default_str();
  sub->add_option("--template", flags->template_name,
                  fmt::format("for messages: {}", fmt::join(ChatTemplate::names(), ", ")))
      ->capture_default_str();
  add_sampling_flags(*sub, *flags);
  sub->add_option("--device", flags->device, "cpu, cuda or cuda:N")->capture_default_str();
  sub->add_option("--dtype", flags->dtype, "auto, fp32, bf16 or fp16; auto: fp32 on the CPU, bf16 on a GPU")
      ->capture_default_str();
  sub->add_option("--max-running-requests", flags->sampling.max_running_requests, "sequences sampled together")
      ->capture_default_str();
  sub->add_option("--kv-cache-mib", flags->kv_cache_mib, "most memory for keys and values; 0 is no limit")
      ->capture_default_str();
  sub->add_option("--block-size", flags->page_size, "tokens of a page of the KV cache")->capture_default_str();
  sub->add_flag("!--no-prefix-caching", flags->sampling.shares_prefill,
                "compute what prompts begin with alike each time");
  sub->callback([flags] { run(*flags); });
}

}  // namespace roll
