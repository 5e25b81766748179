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
fs::path checkpoint_in(const std::string& folder) {
  if (!is_folder(folder)) throw user_error("{}: no such folder", folder);
  for (const char* below : {"", "latest", "checkpoints/latest", "latest/checkpoints/latest"})
    if (is_there(fs::path(folder) / below / kManifestFile)) return fs::canonical(fs::path(folder) / below);
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
  const fs::path checkpoint = checkpoint_in(folder);
  const auto [damage, beside] = faults_of(checkpoint);
  for (const std::string& fault : damage) std::printf("%s\n", fault.c_str());
  for (const std::string& other : beside) std::printf("note: %s: nothing reads it\n", other.c_str());
  if (!damage.empty())
    throw user_error("{}: {} of its files are not what was written", checkpoint.string(), damage.size());
  const FileSums files = read_manifest(checkpoint).files;
  std::printf("%s: %zu files, %s, all as they were written\n", checkpoint.c_str(), files.size(),
              size_text(total_bytes(files)).c_str());
}

/// Describes the chat template; a folder may have none, as a configuration can name another.
std::string template_words(const std::string& folder) {
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
  print_data(fmt::format("tokenizer: {} tokens; ends at {}\n", tokenizer.vocab_size(),
                         ends.empty() ? "no token, as no file names one" : fmt::format("{}", fmt::join(ends, ", "))));
  if (const int64_t rows = read_spec(folder).vocab_size; tokenizer.vocab_size() > rows)
    print_data(fmt::format("note: the model knows {} tokens; texts with the others are refused\n", rows));
  print_data(fmt::format("chat template: {}\n", template_words(folder)));
}

void inspect_model(const std::string& folder) {
  const Inspection found = inspect_folder(folder);
  print_data(found.text);
  if (!found.is_known) throw user_error("{}: is of no architecture that is trained or sampled here", folder);
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
  const fs::path checkpoint = checkpoint_in(folder);
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
  auto* check = app.add_subcommand("verify", "check every byte of a checkpoint against its manifest");
  check->add_option("checkpoint", *folder, "a checkpoint, or a run folder: its newest one")->required();
  check->callback([=] { verify(*folder); });
  auto* look = app.add_subcommand(
      "inspect",
      "show what a checkpoint holds: step, tokens, state, files; or what a model's folder or GGUF file is: "
      "architecture, features, "
      "parameters, memory, tokenizer, and of one that cannot be trained what is lacking (exit code 2, else 0)");
  look->add_option("checkpoint", *folder, "a checkpoint, or a run folder: its newest one")->required();
  look->add_flag("--config", *config, "print the configuration that it was trained with");
  look->callback([=] { inspect(*folder, *config); });
}

}  // namespace roll
