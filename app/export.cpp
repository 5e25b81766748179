#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "app/cli/model_notes.h"
#include "app/commands.h"
#include "base/bytes.h"
#include "base/error.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/manifest.h"
#include "model/device.h"
#include "model/gguf_export.h"
#include "model/rewrite.h"

namespace roll {

namespace {

struct ExportFlags {
  std::string model, out, dtype = "keep", max_shard_size = "5GB", gguf;
  bool merge = false;
};

void run(const ExportFlags& flags, bool shapes_folder) {
  if (!flags.gguf.empty() && shapes_folder)
    throw user_error("--gguf = {}: --dtype and --max-shard-size are about folders; leave them out", flags.gguf);
  HfSaveOptions options;
  if (flags.dtype != "keep") options.dtype = parse_storage_dtype(flags.dtype, "--dtype");
  options.max_shard_bytes = parse_bytes(flags.max_shard_size, "--max-shard-size");
  refuse_in_checkpoint("--out", flags.out);
  const auto model = model_folder(flags.model, "--model");
  print_model_notes(model);
  if (flags.gguf.empty())
    rewrite_folder(model, flags.out, options, flags.merge);
  else
    for (const std::string& note : export_gguf(model, flags.out, flags.gguf, flags.merge))
      std::cerr << "note: " << note << "\n";
  std::cerr << "wrote " << flags.out << "\n";
}

}  // namespace

void add_export(CLI::App& app) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* sub = app.add_subcommand(
      "export",
      "check a model folder or GGUF file and write it again: another dtype, other shards, adapters merged, or as GGUF");
  sub->add_option("--model", flags->model,
                  "folder of a language or a value model, a GGUF file, a run's folder, or a Hub name")
      ->required();
  sub->add_option("--out", flags->out, "folder to write, or file with --gguf; it must not exist")->required();
  sub->add_flag("--merge", flags->merge, "add a folder's adapters (LoRA) to the weights of their model");
  const CLI::Option* dtype =
      sub->add_option("--dtype", flags->dtype, "keep, fp32, bf16 or fp16")->capture_default_str();
  const CLI::Option* shards =
      sub->add_option("--max-shard-size", flags->max_shard_size, "e.g. 200KB, 5GB")->capture_default_str();
  sub->add_option("--gguf", flags->gguf,
                  "write a GGUF file, for llama.cpp or Ollama, with matrices of this type: F32, F16, BF16, Q8_0, Q4_0, "
                  "Q4_1, Q5_0, Q5_1, Q4_K or Q6_K");
  sub->footer("For llama.cpp or Ollama:\n  roll export --model mine/run --gguf Q8_0 --out model.gguf");
  sub->callback([flags, dtype, shards] { run(*flags, dtype->count() > 0 || shards->count() > 0); });
}

}  // namespace roll
