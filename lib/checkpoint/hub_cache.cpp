#include "checkpoint/hub_cache.h"

#include <algorithm>
#include <vector>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "checkpoint/gguf/gguf_folder.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// `repository_type`: models or datasets.
fs::path repository_folder(const std::string& repository_type, const std::string& name) {
  const size_t slash = name.find('/');
  return hub_cache() / fmt::format("{}--{}--{}", repository_type, name.substr(0, slash), name.substr(slash + 1));
}

std::optional<fs::path> find_snapshot(const fs::path& repository) {
  const fs::path snapshots = repository / "snapshots";
  std::error_code ec;
  if (fs::is_regular_file(repository / "refs" / "main", ec)) {
    std::string hash = read_file(repository / "refs" / "main");
    hash.erase(std::remove_if(hash.begin(), hash.end(), [](unsigned char c) { return !std::isxdigit(c); }), hash.end());
    if (!hash.empty() && fs::is_directory(snapshots / hash, ec)) return snapshots / hash;
  }
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(snapshots, ec))
    if (entry.is_directory(ec)) found.push_back(entry.path());
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

/// Returns the model in a run's or a checkpoint's folder; any other folder is returned unchanged.
fs::path find_model_in_run(const fs::path& folder) {
  const auto is_model = [](const fs::path& f) {
    return is_there(f / "config.json") || is_there(f / "adapter_config.json");
  };
  if (is_model(folder)) return folder;
  for (const char* inner : {"actor", "checkpoints/latest/actor", "latest/checkpoints/latest/actor"})
    if (is_model(folder / inner)) return folder / inner;
  return folder;
}

/// Splits a data set's name into its first two parts and the rest.
std::pair<fs::path, fs::path> repository_and_folder(const std::string& name) {
  fs::path repository, inner;
  int depth = 0;
  for (const fs::path& part : fs::path(name)) (depth++ < 2 ? repository : inner) /= part;
  return {repository, inner};
}

}  // namespace

fs::path hub_cache() {
  if (const auto cache = env("HF_HUB_CACHE")) return *cache;
  if (const auto home = env("HF_HOME")) return fs::path(*home) / "hub";
  return fs::path(env("HOME").value_or("/")) / ".cache" / "huggingface" / "hub";
}

bool is_hub_name(const std::string& name) {
  return std::ranges::count(name, '/') == 1 && !name.starts_with('/') && !name.ends_with('/') && name[0] != '.' &&
         name[0] != '~';
}

std::optional<fs::path> find_model_folder(const std::string& name) {
  std::error_code ec;
  if (fs::is_directory(name, ec)) return find_model_in_run(name);
  if (is_gguf(name)) return gguf_folder(name);
  return is_hub_name(name) ? find_snapshot(repository_folder("models", name)) : std::nullopt;
}

std::string dataset_repository(const std::string& name) {
  return repository_and_folder(name).first.string();
}

std::optional<fs::path> find_dataset_folder(const std::string& name) {
  auto [repository, inner] = repository_and_folder(name);
  if (!is_hub_name(repository.string())) return std::nullopt;
  const auto snapshot = find_snapshot(repository_folder("datasets", repository.string()));
  inner = inner.lexically_normal();
  if (!snapshot || inner.empty()) return snapshot;
  std::error_code ec;
  if (*inner.begin() == ".." || !fs::is_directory(*snapshot / inner, ec)) return std::nullopt;
  return *snapshot / inner;
}

std::string missing_model(const std::string& name) {
  if (name.ends_with(".gguf")) return "there is no such file; give a GGUF file, or a model's folder";
  if (!is_hub_name(name))
    return "there is no such folder; give a model's folder, or a Hub name such as Qwen/Qwen2.5-0.5B, or a GGUF file";
  return fmt::format("there is no such folder, and no snapshot of this name in {}; download it with: hf download {}",
                     hub_cache().string(), name);
}

fs::path model_folder(const std::string& name, const std::string& flag) {
  if (const auto folder = find_model_folder(name)) return *folder;
  throw user_error("{}{}: {}", flag.empty() ? "" : flag + " = ", name, missing_model(name));
}

}  // namespace roll
