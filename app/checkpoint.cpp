// roll verify: checks the files of a checkpoint against its manifest. roll inspect: shows a checkpoint or model folder.
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/gguf/gguf_folder.h"
#include "checkpoint/manifest.h"
#include "model/inspect.h"
#include "model/model_folder.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

/// Returns the checkpoint: `folder` itself, or the newest one in a run folder or its checkpoints folder. UserError:
/// none.
fs::path find_checkpoint(const std::string& folder) {
  if (!is_folder(folder)) throw user_error("{}: no such folder", folder);
  for (const char* subfolder : {"", "latest", "checkpoints/latest", "latest/checkpoints/latest"})
    if (is_there(fs::path(folder) / subfolder / kManifestFile)) return fs::canonical(fs::path(folder) / subfolder);
  throw user_error("{}: holds no checkpoint: a folder like output/checkpoints/step_000010, with its {}, is needed",
                   folder, kManifestFile);
}

std::string size_text(int64_t bytes) {
  return bytes < 1'000'000 ? fmt::format("{} bytes", bytes)
                           : fmt::format("{:.2f} MB", static_cast<double>(bytes) / 1e6);
}

int64_t total_bytes(const FileSums& files) {
  int64_t bytes = 0;
  for (const auto& [path, sum] : files) bytes += sum.bytes;
  return bytes;
}

void verify(const std::string& folder) {
  const fs::path checkpoint = find_checkpoint(folder);
  const auto [damage, unknown_files] = find_checkpoint_faults(checkpoint);
  for (const std::string& fault : damage) std::printf("%s\n", fault.c_str());
  for (const std::string& unknown_file : unknown_files)
    std::printf("note: %s: nothing reads it\n", unknown_file.c_str());
  if (!damage.empty()) throw user_error("{}: {} of its files are damaged", checkpoint.string(), damage.size());
  const FileSums files = read_manifest(checkpoint).files;
  std::printf("%s: %zu files, %s, all undamaged\n", checkpoint.c_str(), files.size(),
              size_text(total_bytes(files)).c_str());
}

/// Describes the chat template; a folder may have none, as a configuration can name another.
std::string describe_template(const std::string& folder) {
  try {
    ChatTemplate::load(folder, "native");
    return "its own";
  } catch (const UserError& error) {
    return fmt::format("none that can be used: {}", error.what());
  }
}

/// Prints tokenizer and chat template. UserError: the folder has no usable tokenizer.
void inspect_text(const std::string& folder) {
  const Tokenizer tokenizer = Tokenizer::load(folder);
  std::vector<std::string> ends;
  for (const int64_t id : tokenizer.eos_ids()) ends.push_back(fmt::format("{} {}", id, tokenizer.spelling(id)));
  print_data(fmt::format("tokenizer: {} tokens; end tokens: {}\n", tokenizer.vocab_size(),
                         ends.empty() ? "none, because no file names one" : fmt::format("{}", fmt::join(ends, ", "))));
  if (const int64_t rows = read_spec(folder).vocab_size; tokenizer.vocab_size() > rows)
    print_data(
        fmt::format("note: the model has embeddings for {} tokens; texts with other tokens are refused\n", rows));
  print_data(fmt::format("chat template: {}\n", describe_template(folder)));
}

void inspect_model(const std::string& folder) {
  const Inspection found = inspect_folder(folder);
  print_data(found.text);
  if (!found.is_known) throw user_error("{}: this program can neither train nor sample this architecture", folder);
  inspect_text(folder);
}

void inspect(const std::string& folder, bool config) {
  if (!config && is_gguf(folder)) {
    inspect_model(gguf_folder(folder).string());
    return;
  }
  if (!config && is_there(fs::path(folder) / "config.json")) {
    inspect_model(folder);
    return;
  }
  const fs::path checkpoint = find_checkpoint(folder);
  if (config) {
    print_data(read_file(checkpoint / "config.resolved.yaml"));
    return;
  }
  const Manifest manifest = read_manifest(checkpoint);
  std::printf("%s\n", checkpoint.c_str());
  for (const auto& [key, value] : manifest.about.items())
    std::printf("  %-22s %s\n", key.c_str(), to_line(value).c_str());
  const Json state = read_json(checkpoint / "state.json");
  for (const auto& [key, value] : state.items()) std::printf("  %-22s %s\n", key.c_str(), to_line(value).c_str());
  for (const auto& [path, sum] : manifest.files)
    std::printf("  %-44s %14s  %s\n", path.c_str(), size_text(sum.bytes).c_str(), sum.xxh3.c_str());
}

}  // namespace

void add_checkpoint_tools(CLI::App& app) {
  auto folder = std::make_shared<std::string>();
  auto config = std::make_shared<bool>(false);
  auto* verify_command = app.add_subcommand("verify", "check every byte of a checkpoint against its manifest");
  verify_command->add_option("checkpoint", *folder, "a checkpoint, or a run folder: its newest one")->required();
  verify_command->callback([=] { verify(*folder); });
  auto* inspect_command =
      app.add_subcommand("inspect",
                         "show a checkpoint (step, tokens, state, files), a model folder or a GGUF file (architecture, "
                         "features, parameters, memory, "
                         "tokenizer; if it cannot be trained, the missing features, with exit code 2)");
  inspect_command->add_option("checkpoint", *folder, "a checkpoint, or a run folder: its newest one")->required();
  inspect_command->add_flag("--config", *config, "print the configuration that it was trained with");
  inspect_command->callback([=] { inspect(*folder, *config); });
}

}  // namespace roll
