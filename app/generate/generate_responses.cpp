// roll generate for prompts: writes responses as JSON lines in the order of the prompts, or streams their text.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <optional>

#include "app/cli/streams.h"
#include "app/generate/generate.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/terminal.h"
#include "job/threads.h"
#include "process/stop.h"
#include "rollout/engine.h"
#include "rollout/prompt_lines.h"
#include "rollout/remaining_tokens.h"
#include "rollout/text_stream.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"
#include "track/progress.h"

namespace roll {

namespace {

/// A response's RNG key is its line and its index in the line, so that the first four of 8 samples equal 4 samples. In
/// a line with its own seed the key is the seed and the index, as in `roll serve`.
constexpr int64_t kMaxResponses = 1 << 16;

/// Returns the --prompt texts as rows.
RowSource prompt_rows(const GenerateFlags& flags) {
  return [&flags](const auto& take) {
    for (size_t i = 0; i < flags.prompts.size(); ++i) {
      const std::string& prompt = flags.prompts[i];
      Json messages = Json::array();
      if (flags.system) messages.push_back({{"role", "system"}, {"content", *flags.system}});
      messages.push_back({{"role", "user"}, {"content", prompt}});
      take(flags.as_message ? Json{{"messages", messages}} : Json{{"prompt", prompt}},
           fmt::format("--prompt {}", i + 1));
    }
  };
}

std::vector<GenerationRequest> make_requests(const std::vector<PromptLine>& lines, int64_t num_responses) {
  std::vector<GenerationRequest> requests;
  for (size_t line = 0; line < lines.size(); ++line) {
    const auto& [ids, generating, seed] = lines[line];
    for (int64_t i = 0; i < num_responses; ++i)
      requests.push_back({.prompt_ids = ids,
                          .sequence_id = (seed ? 0 : line * kMaxResponses) + static_cast<uint64_t>(i),
                          .generating = generating,
                          .seed = seed});
  }
  return requests;
}

/// Writes lines in order: each as soon as all earlier ones are written.
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

Json json_floats(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float x : values) list.push_back(json_float(x));
  return list;
}

std::string summary_line(const GenerationRequest& request, const Generation& generation, bool with_processed) {
  Json line = {{"prompt_ids", request.prompt_ids},
               {"ids", generation.ids},
               {"text", generation.text},
               {"log_probs", json_floats(generation.log_probs)}};
  if (with_processed) line["processed_log_probs"] = json_floats(generation.processed_log_probs);
  line["finish_reason"] = enum_name(generation.finish_reason);
  return to_line(line);
}

std::string describe_counts(const SamplerCounts& counts, double seconds) {
  return fmt::format(
      "{:.2f} s: {:.0f} response tokens/s; {} prompt tokens computed, {} shared; "
      "{:.0f} % of {} slots busy; {} of {} KV pages used; {} evictions; {} of {} guessed tokens right",
      seconds, static_cast<double>(counts.drawn) / seconds, counts.prompt_tokens, counts.shared_tokens,
      100 * static_cast<double>(counts.decoded) / static_cast<double>(std::max<int64_t>(1, counts.slot_steps)),
      counts.num_slots, counts.most_pages, counts.num_pages, counts.evictions, counts.guessed_right, counts.guessed);
}

/// Shows progress: responses, tokens per second and the time left.
class SamplingProgress {
 public:
  SamplingProgress(Log& log, const std::vector<GenerationRequest>& requests, const SamplingParams& params)
      : requests_(requests),
        params_(params),
        tokens_(std::ssize(requests), total_max_tokens()),
        progress_(log, "generate", std::ssize(requests), "responses") {}

  void drew(int64_t num_tokens) {
    tokens_.drew(num_tokens);
    progress_.share(tokens_.share_done());
    progress_.detail(fmt::format("{:.0f} tokens/s", static_cast<double>(tokens_.drawn()) / progress_.seconds()));
  }
  void ended(int64_t index, const Generation& generation) {
    tokens_.ended(std::ssize(generation.ids), max_tokens(requests_[index]));
    progress_.advance();
  }

 private:
  int64_t max_tokens(const GenerationRequest& request) const {
    return (request.generating ? *request.generating : params_.generating).max_new_tokens;
  }
  int64_t total_max_tokens() const {
    int64_t sum = 0;
    for (const GenerationRequest& request : requests_) sum += max_tokens(request);
    return sum;
  }

  const std::vector<GenerationRequest>& requests_;
  const SamplingParams& params_;
  RemainingTokens tokens_;
  Progress progress_;
};

std::string longer_context_hint(const ModelSpec& spec) {
  return spec.most_positions() == spec.max_positions
             ? ""
             : fmt::format("; this is the limit of the model's original context; --max-length allows up to {} tokens",
                           spec.most_positions());
}

std::vector<GenerationRequest> read_requests(const GenerateFlags& flags, Input* input, const Tokenizer& tokenizer,
                                             const ModelSpec& spec) {
  const int64_t longest = flags.sampling.max_length > 0 ? flags.sampling.max_length : spec.max_positions;
  const PromptLineRules rules{.model_folder = flags.model,
                              .template_name = flags.template_name,
                              .vocab_size = spec.vocab_size,
                              .max_tokens = longest - 1,
                              .remedy = longer_context_hint(spec),
                              .generating = flags.generating};
  const RowSource rows = input ? input->rows(names_generated_prompt) : prompt_rows(flags);
  return make_requests(read_prompt_lines(rows, tokenizer, rules), flags.num_responses);
}

struct SamplingJob {
  const Transformer& model;
  const Tokenizer& tokenizer;
  const std::vector<GenerationRequest>& requests;
  const SamplingParams& sampling;
  EngineLimits limits;
  Log& log;
  bool with_processed;  // lines include processed_log_probs
};

void sample(const SamplingJob& job, const OnGenerated& on_done, SamplerHooks hooks) {
  SamplerCounts counts;
  hooks.should_stop = [] { return requested_stop().has_value(); };
  hooks.counts = &counts;
  const Stopwatch watch;
  if (!job.requests.empty())
    Engine(job.model, job.tokenizer, job.limits).generate(job.requests, job.sampling, on_done, hooks);
  job.log.info("{}", describe_counts(counts, watch.seconds()));
}

/// Streams the texts, without a progress line, which would disturb the text.
void show_texts(const SamplingJob& job, std::ostream& out) {
  const DecodeText decode = [&](std::span<const int64_t> ids, bool skip) {
    return job.tokenizer.decode(ids, skip, /*more_follows=*/true);
  };
  OrderedTexts texts(out, job.sampling.generating, decode, job.requests.size());
  SamplerHooks hooks;
  hooks.on_token = [&](int64_t index, const Generation& so_far) { texts.grow(index, so_far.ids); };
  sample(
      job, [&](int64_t index, const Generation& generation) { texts.end(index, generation.text); }, hooks);
}

void write_lines(const SamplingJob& job, std::ostream& out) {
  OrderedLines lines(out, job.requests.size());
  SamplingProgress progress(job.log, job.requests, job.sampling);
  SamplerHooks hooks;
  hooks.on_step = [&](int64_t num_tokens) { progress.drew(num_tokens); };
  const auto on_done = [&](int64_t index, const Generation& generation) {
    if (generation.finish_reason == FinishReason::kAbort) return;
    lines.set(index, summary_line(job.requests[index], generation, job.with_processed));
    progress.ended(index, generation);
  };
  sample(job, on_done, hooks);
}

bool has_chat_template(const std::string& model) {
  try {
    ChatTemplate::load(model, "native");
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

void generate_responses(const GenerateFlags& flags) {
  std::optional<Input> input;
  if (flags.prompts.empty()) input.emplace(flags.input);
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  const Transformer model = open_model(flags);
  SamplingParams sampling = flags.sampling;
  sampling.eos_ids = tokenizer.eos_ids();
  const auto requests = read_requests(flags, input ? &*input : nullptr, tokenizer, model.spec());
  EngineLimits limits = limits_for(requests, sampling);
  limits.kv_cache_bytes = flags.kv_cache_mib << 20;
  limits.page_size = flags.page_size;
  limits.weight_bits = flags.weight_bits();
  const std::string output_name = flags.output.value_or("-");
  Output output = input ? Output(output_name, *input) : Output(output_name);
  catch_stop_signals();  // finished responses are written
  Log log(std::cerr, std::cerr, {.rank = 0, .num_ranks = 1, .terminal = describe_terminal(2)});
  log.info("{}", threads_text());
  if (limits.max_length > model.spec().max_positions && !longer_context_hint(model.spec()).empty())
    log.note("note: sequences have up to {} tokens{}", model.spec().max_positions, longer_context_hint(model.spec()));
  if (!flags.prompts.empty() && !flags.as_message && has_chat_template(flags.model))
    log.note(
        "note: --prompt: the model gets the prompt unchanged, but it has a chat template; --as-message applies it");
  const bool is_for_people = !flags.prompts.empty() && !flags.output;
  const auto write_responses = is_for_people ? show_texts : write_lines;
  write_responses({model, tokenizer, requests, sampling, limits, log, flags.writes_processed}, output.stream());
  output.close();
  throw_if_stopped();
}

}  // namespace roll
