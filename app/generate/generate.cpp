// roll generate: generates responses to prompts, holds a conversation, or measures the speed.
#include "app/generate/generate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/cli/field_flags.h"
#include "app/cli/max_length.h"
#include "app/cli/model_notes.h"
#include "app/cli/speculation_flag.h"
#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "checkpoint/hub_cache.h"
#include "model/device.h"
#include "text/chat_template.h"

namespace roll {

namespace {

constexpr const char* kDescription =
    "Sample responses: to JSON lines, to --prompt, in a conversation, or as a benchmark";
constexpr const char* kFooter =
    R"(JSON lines: {"prompt"} | {"messages"} | {"ids"} -> {"prompt_ids", "ids", "text", "log_probs", "finish_reason"}.
Responses to --prompt are shown as text while they are sampled, in order, with a blank line between them; with --out
(- is standard output) they are JSON lines, too. --chat reads one line per turn from standard input. A conversation has
at most the tokens that fit into --kv-cache-mib; without that flag, --max-length or 32768; and never more than the model
has positions.
Only the sampling flags count: of generation_config.json, just the end tokens are used. A line may override them for
itself: "sampling": {"temperature": 0.7, "max_new_tokens": 20, "seed": 3, "logit_bias": {"17": -5}}.
log_probs are log_softmax(logits / temperature) of each id, in nats, before penalties and truncation.)";

std::shared_ptr<GenerateFlags> make_flags() {
  auto flags = std::make_shared<GenerateFlags>();
  flags->sampling.seed = 42;
  flags->generating.max_new_tokens = 256;
  flags->generating.temperature = 1;
  flags->generating.top_p = 1;
  flags->generating.top_k = 0;
  return flags;
}

/// Flags that cannot be combined with `flag`, and the reason.
struct Exclusion {
  const char* flag;
  std::vector<const char*> others;
  const char* reason;
};

const std::vector<Exclusion>& exclusions() {
  static const std::vector<Exclusion> exclusion_list = {
      {"--prompt", {"--input"}, "both give the prompts"},
      {"--chat",
       {"--bench", "--prompt", "--input", "--out", "--samples", "--as-message", "--keep-special",
        "--processed-log-probs", "--no-prefix-caching", "--max-running-requests"},
       "a conversation reads standard input and writes one response after the other to standard output"},
      {"--bench",
       {"--prompt", "--input", "--out", "--samples", "--as-message", "--system", "--template", "--stop",
        "--include-stop", "--keep-special", "--processed-log-probs", "--ignore-eos", "--no-prefix-caching",
        "--max-running-requests", "--kv-cache-mib", "--seed", "--max-length", "--speculation"},
       "a benchmark makes its own prompts and responses of fixed length"},
  };
  return exclusion_list;
}

void check_uses(const CLI::App& sub) {
  const auto is_given = [&](const char* flag) { return sub.count(flag) > 0; };
  for (const auto& [flag, others, reason] : exclusions())
    for (const char* other : others)
      if (is_given(flag) && is_given(other))
        throw user_error("{} and {}: cannot be combined, because {}; leave one out", flag, other, reason);
  for (const char* flag : {"--prompt-tokens", "--batch", "--json", "--trace"})
    if (is_given(flag) && !is_given("--bench")) throw user_error("{}: belongs to --bench; add it", flag);
  if (is_given("--as-message") && !is_given("--prompt"))
    throw user_error("--as-message: applies to --prompt; give one");
  if (is_given("--system") && !is_given("--chat") && !is_given("--as-message"))
    throw user_error("--system: needs a chat template; add --chat, or --prompt with --as-message");
}

void check_values(const GenerateFlags& flags) {
  const SamplingParams& sampling = flags.sampling;
  if (std::ranges::find(flags.generating.stop_strings, "") != flags.generating.stop_strings.end())
    throw UserError("--stop = \"\": would end every response at once; remove it");
  if (sampling.max_running_requests < 1)
    throw user_error("--max-running-requests = {}: must be 1 or more", sampling.max_running_requests);
  check_sampling(sampling);
  if (flags.page_size < 8 || flags.page_size > 128 || flags.page_size % 8 != 0)
    throw user_error("--block-size = {}: must be a multiple of 8 within 8 .. 128", flags.page_size);
  if (flags.kv_cache_mib < 0) throw user_error("--kv-cache-mib = {}: must be at least 0", flags.kv_cache_mib);
}

void add_prompt_flags(CLI::App& sub, GenerateFlags& flags) {
  sub.add_option("--model", flags.model,
                 "model folder or GGUF file, a run's folder (its latest checkpoint), or a Hub name in the local cache")
      ->required();
  sub.add_option("--input", flags.input, kRowInput)->capture_default_str();
  sub.add_option("--out", flags.output, "JSON lines in the order of the input; - is standard output (default)");
  sub.add_option("--prompt", flags.prompts, "a prompt, instead of --input (may be given several times)")
      ->allow_extra_args(false);
  sub.add_flag("--as-message", flags.as_message,
               "treat each --prompt as the user's message, and apply the chat template");
  sub.add_flag("--chat", flags.chats, "a conversation; /reset starts a new one, /quit ends, Ctrl-C stops an answer");
  sub.add_option("--system", flags.system, "the first message of --chat and --as-message");
  sub.add_option("--template", flags.template_name, "chat template for messages")
      ->check(CLI::IsMember(ChatTemplate::names()))
      ->capture_default_str();
}

void add_sampling_flags(CLI::App& sub, GenerateFlags& flags) {
  GeneratingArgs& args = flags.generating;
  add_field_flags(
      sub, args,
      {"stop_strings", "include_stop_str_in_output", "skip_special_tokens", "num_return_sequences", "do_sample"});
  sub.add_option("--seed", flags.sampling.seed, "random seed; the same seed gives the same result")
      ->capture_default_str();
  sub.add_option("--samples", flags.num_responses, "responses per prompt")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  sub.add_flag("--ignore-eos", flags.sampling.ignore_eos, "continue after end tokens");
  sub.add_option("--stop", args.stop_strings, "end a response at this text (may be given several times)")
      ->allow_extra_args(false);
  sub.add_flag("--include-stop,!--exclude-stop", args.include_stop_str_in_output,
               "the stop text stays in \"text\" (default)");
  sub.add_flag("--processed-log-probs", flags.writes_processed,
               "also \"processed_log_probs\": of the distribution after bias, penalties and truncation");
  sub.add_flag("--keep-special", flags.keeps_special, "\"text\" shows special tokens");
}

void add_machine_flags(CLI::App& sub, GenerateFlags& flags) {
  sub.add_option("--device", flags.device, "cpu, cuda, cuda:N, or auto: cuda if there is a GPU")->capture_default_str();
  sub.add_option("--dtype", flags.dtype,
                 "auto, fp32, bf16 or fp16; auto: fp32 on the CPU, bf16 on a GPU; int8, int4: fp32 with weights of "
                 "8 or 4 bits, on the CPU")
      ->capture_default_str();
  add_max_length(sub, flags.sampling.max_length, "the model's positions");
  sub.add_option("--max-running-requests", flags.sampling.max_running_requests, "sequences sampled together")
      ->capture_default_str();
  sub.add_option("--kv-cache-mib", flags.kv_cache_mib, "largest KV cache in MiB; 0: no limit")->capture_default_str();
  sub.add_option("--block-size", flags.page_size, "tokens per page of the KV cache")->capture_default_str();
  sub.add_flag("!--no-prefix-caching", flags.sampling.shares_prefill,
               "compute common prefixes of prompts again for each prompt");
  add_speculation_flag(sub, flags.sampling.guesser);
  sub.add_flag("--bench", flags.benches,
               "measure tokens per second of prefill and decoding, and their share of this machine's measured limits");
  sub.add_option("--batch", flags.batches, "for --bench: sequences at once")
      ->delimiter(',')
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  sub.add_option("--prompt-tokens", flags.prompt_tokens, "for --bench: prompt tokens of each sequence")
      ->capture_default_str();
  sub.add_flag("--json", flags.writes_json, "for --bench: JSON lines instead of a table");
  sub.add_option(
      "--trace", flags.trace,
      "for --bench: file for a trace of operators and GPU kernels, for ui.perfetto.dev; tracing slows the measurement");
}

void run(const CLI::App& sub, GenerateFlags& flags) {
  flags.generating.skip_special_tokens = !flags.keeps_special;
  check_uses(sub);
  check_values(flags);
  flags.sampling.generating = sampling_settings(flags.generating);
  flags.model = model_folder(flags.model, "--model");
  print_model_notes(flags.model);
  const auto run_mode = flags.chats ? chat : flags.benches ? bench_generation : generate_responses;
  run_mode(flags);
}

}  // namespace

Transformer open_model(const GenerateFlags& flags) {
  const at::Device device = parse_device(flags.device, "--device");
  use_device(device);
  const std::string& dtype = flags.weight_bits() > 0 ? "auto" : flags.dtype;
  const int64_t bench_length = flags.prompt_tokens + flags.sampling.generating.max_new_tokens;
  return Transformer::load(flags.model, device, parse_compute_dtype(dtype, device, "--dtype"))
      .for_length(flags.benches ? bench_length : checked_length(flags.model, flags.sampling.max_length));
}

void add_generate(CLI::App& app) {
  const auto flags = make_flags();
  CLI::App* sub = app.add_subcommand("generate", kDescription);
  sub->footer(kFooter);
  add_prompt_flags(*sub, *flags);
  add_sampling_flags(*sub, *flags);
  add_machine_flags(*sub, *flags);
  sub->callback([sub, flags] { run(*sub, *flags); });
}

}  // namespace roll
