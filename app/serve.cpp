// roll serve: serves a model over OpenAI's HTTP API.
#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "app/cli/max_length.h"
#include "app/cli/model_notes.h"
#include "app/cli/speculation_flag.h"
#include "app/commands.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"
#include "base/log.h"
#include "base/names.h"
#include "base/terminal.h"
#include "checkpoint/gguf/gguf_folder.h"
#include "checkpoint/hub_cache.h"
#include "grammar/grammars.h"
#include "job/threads.h"
#include "model/device.h"
#include "model/transformer.h"
#include "process/stop.h"
#include "rollout/engine.h"
#include "serve/request_queue.h"
#include "serve/server.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

constexpr const char* kDescription = "Answer OpenAI's API over HTTP: chat and text completions, streamed or whole";
constexpr const char* kFooter =
    R"(POST /v1/chat/completions and /v1/completions, GET /v1/models and /health, for OpenAI's clients and compatible ones:
base_url http://127.0.0.1:8000/v1. Requests are batched continuously as they arrive. Besides OpenAI's fields there are
top_k, min_p, repetition_penalty, skip_special_tokens, chat_template_kwargs, and return_token_ids, which returns the sampled
ids. The same request with the same seed gets the same answer, on a CPU regardless of other requests. logprobs are
log_softmax(logits / temperature) of each id; top_logprobs, and echo with logprobs, cost two more forward passes over all
tokens of a choice, and a stream sends them at its end. response_format (json_object, or json_schema with a schema)
constrains responses to JSON from the first token: the named properties of an object in their order; length, pattern or
format of strings. tool_choice "required", or a function's name, constrains them to one call. On a GPU most models have
neither. Unknown forms are refused. If ROLL_API_KEY is set in the environment, every request must send it as
"Authorization: Bearer ..."; without it, only this machine is served. Ctrl-C ends the server.)";

constexpr int64_t kDefaultLength = 32768;   // tokens, unless --max-length says otherwise
constexpr int64_t kDefaultCacheMib = 1024;  // on the CPU, unless --kv-cache-mib says otherwise
constexpr double kCacheShare = 0.9;         // share of a GPU's free memory

struct ServeFlags {
  std::string model, name, template_name = "native", device = "auto", dtype = "auto", tool_calls = "marked";
  ServerSettings server{.max_body_bytes = 8, .timeout_s = 600};  // max_body_bytes holds MiB until serve() converts it
  int64_t max_length = 0, max_waiting = 1024, kv_cache_mib = 0, page_size = 16, max_running_requests = 128;
  std::shared_ptr<TokenGuesser> guesser;  // null: no speculation
};

std::optional<ChatTemplate> load_template(const ServeFlags& flags, Log& log) {
  try {
    return ChatTemplate::load(flags.model, flags.template_name);
  } catch (const UserError& error) {
    if (flags.template_name != "native") throw;
    log.warn("only text completions work, no chat: {}", error.what());
    return {};
  }
}

EngineLimits choose_limits(const ServeFlags& flags, const Transformer& model) {
  EngineLimits limits{
      .num_slots = flags.max_running_requests,
      .max_length = flags.max_length > 0 ? flags.max_length : std::min(kDefaultLength, model.spec().max_positions),
      .page_size = flags.page_size};
  limits.kv_cache_bytes = flags.kv_cache_mib > 0    ? flags.kv_cache_mib << 20
                          : model.device().is_cpu() ? kDefaultCacheMib << 20
                                                    : cache_bytes(limits, kCacheShare, model);
  return limits;
}

/// Returns the tokens' texts for grammars; special tokens, which texts do not show, are empty.
TokenTexts token_texts(const Tokenizer& tokenizer, int64_t vocab_size) {
  TokenTexts tokens;
  for (int64_t id = 0; id < vocab_size; ++id) {
    const std::vector<int64_t> ids = {id};
    const bool is_shown = tokenizer.decode(ids).empty() || !tokenizer.decode(ids, true).empty();
    tokens.texts.push_back(is_shown ? tokenizer.token_bytes(id) : "");
  }
  for (const int64_t id : tokenizer.eos_ids()) tokens.ends.push_back(static_cast<int32_t>(id));
  return tokens;
}

/// Makes malloc return the memory of finished requests to the system; by default it keeps ever larger blocks.
void return_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

void serve(ServeFlags flags) {
  return_freed_memory();
  flags.model = model_folder(flags.model, "--model");
  print_model_notes(flags.model);
  if (const auto file = gguf_file_in(flags.model); file && flags.name.empty()) flags.name = file->stem();
  if (flags.name.empty()) flags.name = std::filesystem::path(flags.model).filename();
  flags.server.api_key = env("ROLL_API_KEY").value_or("");
  flags.server.max_body_bytes <<= 20;
  Log log(std::cerr, std::cerr, {.rank = 0, .num_ranks = 1, .terminal = describe_terminal(2)});
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  const std::optional<ChatTemplate> chat_template = load_template(flags, log);
  const at::Device device = parse_device(flags.device, "--device");
  use_device(device);
  const Transformer model = Transformer::load(flags.model, device, parse_compute_dtype(flags.dtype, device, "--dtype"))
                                .for_length(checked_length(flags.model, flags.max_length));
  const EngineLimits limits = choose_limits(flags, model);
  Engine engine(model, tokenizer, limits);
  const SamplingParams sampling{.eos_ids = tokenizer.eos_ids(),
                                .seed = static_cast<uint64_t>(wall_clock_s() * 1e6),
                                .max_running_requests = flags.max_running_requests,
                                .max_length = limits.max_length,
                                .continues_responses = true,
                                .guesser = flags.guesser,
                                .shares_steps = true};
  catch_stop_signals();
  Grammars grammars([&] { return token_texts(tokenizer, model.spec().vocab_size); });
  const ServedModel served{
      .name = flags.name,
      .tokenizer = tokenizer,
      .chat_template = chat_template ? &*chat_template : nullptr,
      .vocab_size = model.spec().vocab_size,
      .max_length = limits.max_length,
      .tool_call_form = named<ToolCallForm>(flags.tool_calls),
      .grammars = draws_on_host(model) ? &grammars : nullptr,
      .no_grammars =
          "tokens are sampled on the GPU, where grammars are not supported; start with --device cpu, or leave it out",
      .scores_tokens = true};
  RequestQueue queue(flags.max_waiting,
                     [&](const std::vector<int64_t>& ids, int64_t first, int64_t num_likeliest, double temperature) {
                       return score_tokens(model, ids, first, num_likeliest, temperature);
                     });
  {
    const CompletionServer server(served, queue, flags.server);
    log.info("{}; up to {} tokens per sequence, {} sequences at once", threads_text(), limits.max_length,
             flags.max_running_requests);
    fmt::print("http://{}:{}/v1\n", flags.server.host, server.port());
    std::fflush(stdout);  // a program may wait for this line
    queue.run([&](RequestSource& source, const OnGenerated& on_done,
                  const SamplerHooks& hooks) { return engine.serve(source, sampling, on_done, hooks); },
              [] { return requested_stop().has_value(); });
  }
  throw_if_stopped();
}

}  // namespace

void add_serve(CLI::App& app) {
  auto* sub = app.add_subcommand("serve", kDescription);
  auto flags = std::make_shared<ServeFlags>();
  sub->footer(kFooter);
  sub->add_option("--model", flags->model,
                  "model folder or GGUF file, a run's folder (its latest checkpoint), or a Hub name in the local cache")
      ->required();
  sub->add_option("--served-model-name", flags->name, "model name in requests; default: the folder's name");
  sub->add_option("--host", flags->server.host, "address to listen on")->capture_default_str();
  sub->add_option("--port", flags->server.port, "0: any free port")->check(CLI::Range(0, 65535))->capture_default_str();
  sub->add_option("--template", flags->template_name, "chat template for messages")
      ->check(CLI::IsMember(ChatTemplate::names()))
      ->capture_default_str();
  sub->add_option("--tool-calls", flags->tool_calls,
                  "how the model writes tool calls: marked, after the mark of its family (Qwen, GLM-4.5, Mistral, "
                  "Gemma 4, Phi-4-mini, Granite, OLMo 3), or llama3 or glm4, without a mark")
      ->check(CLI::IsMember(Words<ToolCallForm>::all()))
      ->capture_default_str();
  add_speculation_flag(*sub, flags->guesser);
  add_max_length(*sub, flags->max_length, "the model's positions, at most 32768");
  sub->add_option("--max-running-requests", flags->max_running_requests, "sequences sampled together")
      ->check(CLI::Range(int64_t{1}, int64_t{65536}))
      ->capture_default_str();
  sub->add_option("--max-waiting", flags->max_waiting,
                  "responses that may wait in the queue; further requests get status 429")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  sub->add_option("--max-body-mib", flags->server.max_body_bytes, "largest body of a request, in MiB")
      ->check(CLI::Range(int64_t{1}, int64_t{100}))
      ->capture_default_str();
  sub->add_option("--timeout", flags->server.timeout_s, "longest time for an answer, in seconds")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  sub->add_option("--device", flags->device, "cpu, cuda, cuda:N, or auto: cuda if there is a GPU")
      ->capture_default_str();
  sub->add_option("--dtype", flags->dtype, "auto, fp32, bf16 or fp16; auto: fp32 on the CPU, bf16 on a GPU")
      ->capture_default_str();
  sub->add_option("--kv-cache-mib", flags->kv_cache_mib,
                  "KV cache in MiB; 0: 1024 on the CPU, 90 % of the free memory on a GPU")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
  sub->callback([flags] { serve(*flags); });
}

}  // namespace roll
