// roll init-model: a model folder with random weights, for tests and for small models of one's own.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"
#include "model/transformer.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

struct InitFlags {
  std::string architecture = "qwen2", tokenizer = "builtin", out, dtype = "fp32";
  int64_t hidden = 128, intermediate = 0, layers = 4, heads = 4, kv_heads = 0, head_dim = 0, vocab = 0;
  int64_t max_positions = 32768;
  double rope_theta = 10000;
  bool tied = true;
  uint64_t seed = 42;
};

ModelSpec spec_of(const InitFlags& flags, int64_t tokenizer_size) {
  ModelSpec spec;
  spec.architecture = parse_architecture(flags.architecture, "--arch");
  spec.vocab_size = flags.vocab ? flags.vocab : tokenizer_size;
  spec.hidden_size = flags.hidden;
  spec.intermediate_size = flags.intermediate ? flags.intermediate : 4 * flags.hidden;
  spec.num_layers = flags.layers;
  spec.num_heads = flags.heads;
  spec.num_kv_heads = flags.kv_heads ? flags.kv_heads : flags.heads;
  spec.head_dim = flags.head_dim ? flags.head_dim : flags.hidden / flags.heads;
  spec.max_positions = flags.max_positions;
  spec.rope_theta = flags.rope_theta;
  spec.tied_head = flags.tied;
  spec.qkv_bias = spec.architecture == Architecture::kQwen2;
  spec.qk_norm = spec.architecture == Architecture::kQwen3;
  if (spec.vocab_size < tokenizer_size)
    throw user_error("--vocab = {}: must be at least the tokenizer's {} tokens", spec.vocab_size, tokenizer_size);
  return spec;
}

at::ScalarType dtype_of(const std::string& name) {
  return name == "fp32" ? at::kFloat : name == "bf16" ? at::kBFloat16 : at::kHalf;
}

void init_model(const InitFlags& flags) {
  if (fs::exists(flags.out)) throw user_error("--out = {}: exists already; remove it or choose another", flags.out);
  write_folder_atomic(flags.out, [&](const fs::path& folder) {
    if (flags.tokenizer == "builtin") {
      write_tiny_tokenizer(folder, {.words = {"user", "assistant", "system", "boxed"}, .more_special_tokens = {}});
    } else {
      copy_companions(flags.tokenizer, folder);
    }
    const ModelSpec spec = spec_of(flags, Tokenizer::load(folder).vocab_size());
    // Through its own check of config.json, so that impossible sizes are told like those of a file.
    parse_spec(hf_config(spec), "roll init-model");
    HfSaveOptions options;
    options.dtype = dtype_of(flags.dtype);
    Transformer::init(spec, flags.seed).write_files(folder, options);
    std::printf("%s: %s, %.2f M parameters, vocabulary %ld\n", flags.out.c_str(), flags.architecture.c_str(),
                static_cast<double>(spec.num_parameters()) / 1e6, static_cast<long>(spec.vocab_size));
  });
}

}  // namespace

void add_init_model(CLI::App& app) {
  auto* sub = app.add_subcommand("init-model", "make a model folder with random weights");
  auto flags = std::make_shared<InitFlags>();
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 32);
  sub->add_option("--arch", flags->architecture, "qwen2, qwen3 or llama")->capture_default_str();
  sub->add_option("--out", flags->out, "folder to make")->required();
  sub->add_option("--tokenizer", flags->tokenizer, "folder whose tokenizer is copied, or builtin: bytes and ChatML")
      ->capture_default_str();
  sub->add_option("--hidden", flags->hidden, "hidden size")->check(positive)->capture_default_str();
  sub->add_option("--intermediate", flags->intermediate, "MLP size; default: 4 x hidden")->check(positive);
  sub->add_option("--layers", flags->layers, "layers")->check(positive)->capture_default_str();
  sub->add_option("--heads", flags->heads, "attention heads")->check(positive)->capture_default_str();
  sub->add_option("--kv-heads", flags->kv_heads, "key and value heads; default: --heads")->check(positive);
  sub->add_option("--head-dim", flags->head_dim, "size of a head; default: hidden / heads")->check(positive);
  sub->add_option("--vocab", flags->vocab, "rows of the embedding; default: the tokenizer's tokens")->check(positive);
  sub->add_option("--max-positions", flags->max_positions, "longest sequence")->check(positive)->capture_default_str();
  sub->add_option("--rope-theta", flags->rope_theta, "base of the rotary embedding")->capture_default_str();
  sub->add_flag("--tie,!--no-tie", flags->tied, "the lm head is the embedding (default)");
  sub->add_option("--seed", flags->seed, "names the random weights")->capture_default_str();
  sub->add_option("--dtype", flags->dtype, "fp32, bf16 or fp16")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
      ->capture_default_str();
  sub->callback([flags] { init_model(*flags); });
}

}  // namespace roll
