#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "app/cli/model_notes.h"
#include "app/commands.h"
#include "base/bytes.h"
#include "checkpoint/hub_cache.h"
#include "checkpoint/manifest.h"
#include "model/device.h"
#include "model/rewrite.h"

namespace roll {

namespace {

struct ExportFlags {
  std::string model, out, dtype = "keep", max_shard_size = "5GB";
  bool merge = false;
};

void run(const ExportFlags& flags) {
  HfSaveOptions options;
  if (flags.dtype != "keep") options.dtype = parse_storage_dtype(flags.dtype, "--dtype");
  options.max_shard_bytes = parse_bytes(flags.max_shard_size, "--max-shard-size");
  refuse_in_checkpoint("--out", flags.out);
  const auto model = model_folder(flags.model, "--model");
  print_model_notes(model);
  rewrite_folder(model, flags.out, options, flags.merge);
  std::cerr << "wrote " << flags.out << "\n";
}

}  // namespace

void add_export(CLI::App& app) {
  auto flags = std::make_shared<ExportFlags>();
  CLI::App* sub = app.add_subcommand(
      "export", "check a model folder or GGUF file and write it again: another dtype, other shards, adapters merged");
  sub->add_option("--model", flags->model,
                  "folder of a language or a value model, a GGUF file, a run's folder, or a Hub name")
      ->required();
  sub->add_option("--out", flags->out, "folder to write; it must not exist")->required();
  sub->add_flag("--merge", flags->merge, "add a folder's adapters (LoRA) to the weights of their model");
  sub->add_option("--dtype", flags->dtype, "keep, fp32, bf16 or fp16")->capture_default_str();
  sub->add_option("--max-shard-size", flags->max_shard_size, "e.g. 200KB, 5GB")->capture_default_str();
  sub->callback([flags] { run(*flags); });
}

}  // namespace roll
