#include "rollout/sampler_bench.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr int64_t kWarmUpTokens = 8;

std::vector<GenerationRequest> random_prompts(const BenchShape& shape, uint32_t step, int64_t vocab_size) {
  std::vector<GenerationRequest> requests(shape.batch);
  for (uint64_t i = 0; i < requests.size(); ++i) {
    requests[i].sequence_id = i;
    for (uint32_t position = 0; position < shape.prompt_tokens; ++position) {
      const double uniform =
          random_uniform({.purpose = Purpose::kInit, .step = step, .sequence = i, .position = position});
      requests[i].prompt_ids.push_back(static_cast<int64_t>(uniform * static_cast<double>(vocab_size)));
    }
  }
  return requests;
}

/// Callbacks of a run that measure the steps in which all sequences draw.
class DecodeWatch {
 public:
  DecodeWatch(const BenchShape& shape, BenchResult& result) : shape_(shape), result_(result) {}

  void on_token(const Generation& generation) {
    num_started_ += generation.ids.size() == 1;
    if (is_open_) length_sum_ += static_cast<double>(shape_.prompt_tokens + std::ssize(generation.ids) - 1);
  }
  void on_done() { has_ended_ = true; }
  void on_step(int64_t num_tokens) {
    if (is_open_) {
      ++result_.decode_steps;
      result_.decode_tokens += num_tokens;
      result_.decode_s = watch_.seconds();
      result_.decode_length = length_sum_ / static_cast<double>(result_.decode_tokens);
    } else if (num_started_ == shape_.batch) {
      watch_.restart();
    }
    is_open_ = num_started_ == shape_.batch && !has_ended_;
  }

 private:
  const BenchShape& shape_;
  BenchResult& result_;
  Stopwatch watch_;
  int64_t num_started_ = 0;
  double length_sum_ = 0;
  bool is_open_ = false, has_ended_ = false;
};

}  // namespace

BenchResult bench_sampler(StepModel& model, PagePool& pages, const SamplingParams& params, const BenchShape& shape,
                          const std::function<bool()>& should_stop) {
  const DecodeText no_text = [](std::span<const int64_t>, bool) { return std::string(); };
  SamplingParams run_params = params;
  run_params.ignore_eos = true;
  run_params.guesser = nullptr;  // each step then draws one token per sequence
  SamplerCounts counts;
  const auto run = [&](const auto& requests, int64_t new_tokens, const OnGenerated& on_done, SamplerHooks hooks) {
    run_params.generating.max_new_tokens = new_tokens;
    hooks.should_stop = should_stop;
    hooks.counts = &counts;
    generate(model, pages, no_text, requests, run_params, on_done, hooks);
  };
  const int64_t vocab_size = model.vocab_size();
  run(random_prompts(shape, 2 * shape.round, vocab_size), std::min(kWarmUpTokens, shape.new_tokens), {}, {});

  BenchResult result;
  const auto prompts = random_prompts(shape, 2 * shape.round + 1, vocab_size);
  const Stopwatch watch;
  run(prompts, 1, {}, {});
  result.prefill_s = watch.seconds();
  result.prefill_tokens = counts.prompt_tokens;
  // The prompts are in the prefix cache now, so that all sequences start within a few steps.
  DecodeWatch decoding(shape, result);
  run(prompts, shape.new_tokens, [&](int64_t, const Generation&) { decoding.on_done(); },
      {.on_step = [&](int64_t num_tokens) { decoding.on_step(num_tokens); },
       .on_token = [&](int64_t, const Generation& generation) { decoding.on_token(generation); }});
  result.counts = counts;
  if (result.decode_steps == 0 && !should_stop())
    throw user_error("{} new tokens: the first of {} sequences ends before the last begins; generate more tokens",
                     shape.new_tokens, shape.batch);
  return result;
}

}  // namespace roll
