// roll init-model: makes a model folder with random weights, for tests and new small models.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/cli/field_flags.h"
#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/gguf/gguf_folder.h"
#include "checkpoint/manifest.h"
#include "model/device.h"
#include "model/init_spec.h"
#include "model/transformer.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

struct InitFlags {
  InitSizes sizes;
  uint64_t seed = 42;
  std::string tokenizer = "builtin", dtype = "fp32", out;
};

/// Writes the tokenizer's files into `folder`; returns its vocabulary size, nullopt for "none".
std::optional<int64_t> add_tokenizer(const std::string& name, const fs::path& folder) {
  if (is_gguf(name)) return add_tokenizer(gguf_folder(name).string(), folder);
  if (name == "none") return {};
  if (name == "builtin") {
    write_tiny_tokenizer(folder, {.words = {"user", "assistant", "system", "boxed"}, .more_special_tokens = {}});
  } else if (is_there(fs::path(name) / "tokenizer.json")) {
    write_companions(read_companions(name), folder);
  } else {
    throw user_error(
        "--tokenizer = {}: holds no tokenizer.json; give a folder that does, a GGUF file, builtin, or none", name);
  }
  return Tokenizer::load(folder).vocab_size();
}

void init_model(const InitFlags& flags) {
  if (is_there(flags.out)) throw user_error("--out = {}: exists already; remove it or choose another", flags.out);
  refuse_in_checkpoint("--out", flags.out);
  HfSaveOptions options;
  options.dtype = parse_storage_dtype(flags.dtype, "--dtype");
  write_folder_atomic(flags.out, [&](const fs::path& folder) {
    const ModelSpec spec = make_spec(flags.sizes, add_tokenizer(flags.tokenizer, folder));
    const Transformer model = Transformer::init(spec, flags.seed);
    model.write_files(folder, model.parameters(), options);
    std::printf("%s: %s, %.2f M parameters, vocabulary %ld\n", flags.out.c_str(), flags.sizes.arch.c_str(),
                static_cast<double>(spec.num_parameters()) / 1e6, static_cast<long>(spec.vocab_size));
  });
}

void add_size_flags(CLI::App& sub, InitSizes& sizes) {
  sub.add_option("--arch", sizes.arch, architecture_list("or"))->capture_default_str();
  add_field_flags(sub, sizes);
  sub.add_flag("--mtp", sizes.mtp, "adds a multi-token-prediction head, which mtp_loss_coef trains");
  sub.add_flag("--tie,!--no-tie", sizes.tie, "the lm head shares the embedding's weights (default)");
}

}  // namespace

void add_init_model(CLI::App& app) {
  auto flags = std::make_shared<InitFlags>();
  CLI::App* sub = app.add_subcommand("init-model", "make a model folder with random weights");
  sub->add_option("--out", flags->out, "folder to make")->required();
  sub->add_option("--tokenizer", flags->tokenizer,
                  "folder or GGUF file whose tokenizer is copied; builtin: bytes and ChatML; or none")
      ->capture_default_str();
  add_size_flags(*sub, flags->sizes);
  sub->add_option("--seed", flags->seed, "random seed of the weights, which are the same on every machine")
      ->capture_default_str();
  sub->add_option("--dtype", flags->dtype, "fp32, bf16 or fp16")->capture_default_str();
  sub->callback([flags] { init_model(*flags); });
}

}  // namespace roll
