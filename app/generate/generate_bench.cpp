// roll generate --bench: measures the sampling speed of a model and its share of this machine's limits.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/generate/generate.h"
#include "base/error.h"
#include "base/json.h"
#include "decode/decoder.h"
#include "device/operator_trace.h"
#include "job/threads.h"
#include "machine/device_speed.h"
#include "model/device.h"
#include "process/stop.h"
#include "rollout/roofline.h"
#include "rollout/sampler_bench.h"

namespace roll {

namespace {

constexpr double kPeakMeasuring_s = 0.5;

void check_shapes(const GenerateFlags& flags, int64_t max_positions) {
  if (flags.prompt_tokens < 1) throw user_error("--prompt-tokens = {}: must be 1 or more", flags.prompt_tokens);
  const int64_t new_tokens = flags.sampling.generating.max_new_tokens;
  if (new_tokens < 2) throw user_error("--max-new-tokens = {}: must be at least 2 with --bench", new_tokens);
  if (flags.prompt_tokens > max_positions - new_tokens)
    throw user_error("--prompt-tokens = {}: with --max-new-tokens = {} this exceeds the model's {} positions",
                     flags.prompt_tokens, new_tokens, max_positions);
}

class Bench {
 public:
  Bench(const GenerateFlags& flags, const Transformer& model)
      : flags_(flags),
        model_(model),
        flops_per_s_(best_matmul_peak(model.device(), model.dtype(), kPeakMeasuring_s)),
        steps_(make_step_model(model, limits())) {}

  Json measure_row(int64_t batch, uint32_t round) {
    const BenchShape shape{.batch = batch,
                           .prompt_tokens = flags_.prompt_tokens,
                           .new_tokens = flags_.sampling.generating.max_new_tokens,
                           .round = round};
    SamplingParams params = flags_.sampling;
    params.max_running_requests = batch;
    PagePool pages(steps_->num_pages(), steps_->page_size());
    const BenchResult result =
        bench_sampler(*steps_, pages, params, shape, [] { return requested_stop().has_value(); });
    throw_if_stopped();
    return make_row(shape, result);
  }

 private:
  EngineLimits limits() const {
    return {.num_slots = std::ranges::max(flags_.batches),
            .max_length = flags_.prompt_tokens + flags_.sampling.generating.max_new_tokens,
            .page_size = flags_.page_size,
            .weight_bits = flags_.weight_bits()};
  }

  Json make_row(const BenchShape& shape, const BenchResult& result) const {
    const ModelSpec& spec = model_.spec();
    const auto size = static_cast<int64_t>(c10::elementSize(model_.dtype()));
    const NumberBytes bytes{sampled_weight_bytes(flags_.weight_bits(), static_cast<double>(size)), size};
    const auto length = static_cast<int64_t>(result.decode_length);
    const DecodingCost prefill = step_cost(spec, bytes, shape.batch, 0, shape.prompt_tokens);
    const DecodingCost decode = step_cost(spec, bytes, shape.batch, length - 1, length);
    const MachineSpeed machine{measure_read_bandwidth(model_.device(), static_cast<int64_t>(decode.bytes)),
                               flops_per_s_};
    const double step_s = result.decode_s / static_cast<double>(result.decode_steps);
    const SamplerCounts& counts = result.counts;
    const auto page_mib = static_cast<double>(page_bytes(model_, flags_.page_size)) / (1 << 20);
    return {{"batch", shape.batch},
            {"prompt_tokens", shape.prompt_tokens},
            {"new_tokens", shape.new_tokens},
            {"prefill_tokens_per_s", json_float(static_cast<double>(result.prefill_tokens) / result.prefill_s)},
            {"prefill_share", json_float(least_seconds(prefill, machine) / result.prefill_s)},
            {"decode_tokens_per_s", json_float(static_cast<double>(result.decode_tokens) / result.decode_s)},
            {"decode_step_ms", json_float(1e3 * step_s)},
            {"decode_share", json_float(least_seconds(decode, machine) / step_s)},
            {"decode_limit", is_bound_by_memory(decode, machine) ? "memory" : "products"},
            {"slots_busy", json_float(static_cast<double>(counts.decoded) / static_cast<double>(counts.slot_steps))},
            {"kv_pages", counts.most_pages},
            {"kv_mib", json_float(static_cast<double>(counts.most_pages) * page_mib)},
            {"decode_step_bytes", json_float(decode.bytes)},
            {"decode_step_flops", json_float(decode.flops)},
            {"read_bytes_per_s", json_float(machine.bytes_per_s)},
            {"matmul_flops_per_s", json_float(machine.flops_per_s)}};
  }

  const GenerateFlags& flags_;
  const Transformer& model_;
  double flops_per_s_;
  std::unique_ptr<StepModel> steps_;
};

void print_head(const Transformer& model, const GenerateFlags& flags) {
  fmt::print("{:.1f} M parameters in {} on {}, {}; {} prompt tokens, {} new ones\n",
             static_cast<double>(model.spec().num_parameters()) / 1e6,
             flags.weight_bits() > 0 ? fmt::format("fp32, weights of {} bits", flags.weight_bits())
                                     : compute_dtype_name(model.dtype()),
             model.device().str(), threads_text(), flags.prompt_tokens, flags.sampling.generating.max_new_tokens);
  fmt::print("{:>6} {:>13} {:>6} {:>13} {:>9} {:>6} {:>9} {:>7} {:>9} {:>8} {:>10} {:>12}\n", "batch", "prefill tok/s",
             "share", "decode tok/s", "ms/step", "share", "limit", "slots", "KV pages", "KV MiB", "read GB/s",
             "matmul GF/s");
}

void print_row(const Json& row) {
  const auto number = [&](const char* key) { return row[key].is_null() ? 0 : row[key].get<double>(); };
  fmt::print(
      "{:>6} {:>13.0f} {:>6.2f} {:>13.0f} {:>9.3f} {:>6.2f} {:>9} {:>5.0f} % {:>9} {:>8.1f} {:>10.1f} {:>12.0f}\n",
      number("batch"), number("prefill_tokens_per_s"), number("prefill_share"), number("decode_tokens_per_s"),
      number("decode_step_ms"), number("decode_share"), row["decode_limit"].get_ref<const std::string&>(),
      100 * number("slots_busy"), number("kv_pages"), number("kv_mib"), number("read_bytes_per_s") / 1e9,
      number("matmul_flops_per_s") / 1e9);
}

}  // namespace

void bench_generation(const GenerateFlags& flags) {
  const Transformer model = open_model(flags);
  check_shapes(flags, model.spec().max_positions);
  catch_stop_signals();
  Bench bench(flags, model);
  if (!flags.writes_json) print_head(model, flags);
  std::optional<OperatorTrace> trace;
  if (flags.trace) trace.emplace(*flags.trace);
  for (uint32_t round = 0; round < flags.batches.size(); ++round) {
    const Json row = bench.measure_row(flags.batches[round], round);
    flags.writes_json ? fmt::print("{}\n", to_line(row)) : print_row(row);
    std::fflush(stdout);
  }
  if (trace) trace->save();
  if (!flags.writes_json)
    fmt::print(
        "share: part of this machine's measured limit, which is memory bandwidth or the speed of matrix products\n");
}

}  // namespace roll
