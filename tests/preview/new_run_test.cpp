#include "preview/new_run.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// Returns a model of about that many parameters.
ModelSpec spec_with(int64_t layers, int64_t hidden_size, int64_t vocab_size) {
  ModelSpec spec;
  spec.vocab_size = vocab_size, spec.hidden_size = hidden_size, spec.intermediate_size = 4 * hidden_size;
  spec.num_layers = layers, spec.num_heads = 8, spec.num_kv_heads = 8, spec.head_dim = hidden_size / 8;
  spec.max_positions = 4096;
  return spec;
}

std::string config_of(const ModelSpec& spec, bool on_gpu, bool has_fast_bf16) {
  NewRun run{.folder = "/new", .output_dir = "/new/run", .model = "/model", .data = {"/rows.jsonl"}};
  run.reward = "exact_match", run.num_rows = 100, run.on_gpu = on_gpu, run.has_fast_bf16 = has_fast_bf16;
  run.prompts = {.p50 = 10, .p90 = 10, .p99 = 10, .max = 10};
  return new_config(run, spec, {});
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the first learning rate falls with the model's size", "[preview]") {
  const auto rate = [](const ModelSpec& spec) {
    const std::string text = config_of(spec, true, false);
    const size_t at = text.find("learning_rate: ") + 15;
    return text.substr(at, 7);
  };
  CHECK(rate(spec_with(2, 64, 500)) == "1.0e-04");       // a toy
  CHECK(rate(spec_with(12, 768, 32000)) == "9.0e-06");   // 160 M
  CHECK(rate(spec_with(24, 1024, 64000)) == "3.0e-06");  // 530 M
  CHECK(rate(spec_with(32, 4096, 32000)) == "1.0e-06");  // 8.9 G
}

TEST_CASE("a first configuration uses bfloat16 where it is fast", "[preview]") {
  const ModelSpec real = spec_with(12, 768, 32000), toy = spec_with(2, 64, 500);
  CHECK(holds(config_of(real, true, false), "{dtype: bf16}"));
  CHECK(holds(config_of(real, false, true), "{dtype: bf16}"));
  CHECK(holds(config_of(real, false, false), "{dtype: fp32}"));
  CHECK(holds(config_of(toy, false, true), "{dtype: fp32}"));
}

}  // namespace roll
