#include "checkpoint/gguf/gguf_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_sum.h"
#include "base/scratch_folder.h"
#include "checkpoint/gguf/gguf_file.h"
#include "checkpoint/gguf/model_config.h"
#include "checkpoint/gguf/tensor_names.h"
#include "checkpoint/gguf/tokenizer_json.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// Caches in the order in which they are tried.
std::vector<fs::path> caches() {
  std::vector<fs::path> all;
  const auto own = env("XDG_CACHE_HOME"), home = env("HOME");
  if (own && fs::path(*own).is_absolute())
    all.push_back(fs::path(*own) / "roll" / "gguf");
  else if (home && !home->empty())
    all.push_back(fs::path(*home) / ".cache" / "roll" / "gguf");
  all.push_back(fs::temp_directory_path() / fmt::format("roll-gguf-{}", ::getuid()));
  return all;
}

/// Makes a folder that only this user may change. Returns false if that fails.
bool make_private(const fs::path& folder) {
  std::error_code ec;
  fs::create_directories(folder.parent_path(), ec);
  ::mkdir(folder.c_str(), 0700);
  struct stat info = {};
  const bool is_own = ::lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::getuid() &&
                      (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_own && ::access(folder.c_str(), W_OK | X_OK) == 0;
}

/// Returns a folder name that changes with the file's path and with what the folder holds: another version of this
/// program may make other files.
std::string cache_name(const fs::path& file, const std::map<std::string, std::string>& files) {
  RunningSum sum;
  sum.add(file.string());
  for (const auto& [name, text] : files) sum.add(fmt::format("\n{}\n{}", name, text));
  return fmt::format("{}-{}", file.stem().string(), sum.sum().xxh3.substr(0, 16));
}

/// Writes the folder under another name and renames it. One that another process has made meanwhile is as good.
void make(const fs::path& folder, const std::map<std::string, std::string>& files, const fs::path& model) {
  const ScratchFolder temporary(".new-", folder.parent_path());
  for (const auto& [name, text] : files) {
    make_folder((temporary.path() / name).parent_path());
    write_file_atomic(temporary.path() / name, text);
  }
  std::error_code ec;
  fs::create_symlink(model, temporary.path() / kGgufLink, ec);
  if (ec) throw system_error("{}: cannot be made ({})", folder.string(), ec.message());
  if (::rename(temporary.path().c_str(), folder.c_str()) != 0 && !is_there(folder / "config.json"))
    throw system_error("{}: cannot be made{}", folder.string(), errno_text());
}

/// Returns text that changes when the file is written again.
std::string file_state(const fs::path& file) {
  struct stat info = {};
  if (::stat(file.c_str(), &info) != 0) throw user_error("{}: cannot open{}", file.string(), errno_text());
  return fmt::format("{}\n{}\n{}.{:09}", file.string(), info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::map<std::string, std::string> files_of(const fs::path& model) {
  const gguf::File file(model);
  gguf::folder_tensors(file);  // an unknown tensor is refused at once
  std::map<std::string, std::string> files = gguf::tokenizer_files(file);
  files["config.json"] = gguf::model_config(file).dump(2) + "\n";
  return files;
}

/// Returns the folder in the first cache that has it or can take it.
fs::path find_or_make(const fs::path& model) {
  const std::map<std::string, std::string> files = files_of(model);
  const std::string name = cache_name(model, files);
  const std::vector<fs::path> places = caches();
  for (const fs::path& cache : places)
    if (is_there(cache / name / "config.json") && make_private(cache)) return cache / name;
  for (const fs::path& cache : places) {
    if (!make_private(cache)) continue;
    try {
      make(cache / name, files, model);
      return cache / name;
    } catch (const SystemError&) {
      if (&cache == &places.back()) throw;  // such as a full disk: the next place may do
    }
  }
  throw system_error("{}: no folder for its configuration can be written; set XDG_CACHE_HOME to one that can",
                     model.string());
}

}  // namespace

bool is_gguf(const std::string& name) {
  std::error_code ec;
  return name.ends_with(".gguf") && fs::exists(name, ec) && !fs::is_directory(name, ec);
}

fs::path gguf_folder(const fs::path& file) {
  const fs::path model = fs::absolute(gguf::first_part(file)).lexically_normal();
  if (!is_there(model)) throw user_error("{}: no such file; fetch all parts of the model", model.string());
  // A process asks again and again; reading a large vocabulary takes a second.
  static std::mutex mutex;
  static std::map<std::string, fs::path> made;
  const std::scoped_lock lock(mutex);
  fs::path& folder = made[file_state(model)];
  if (folder.empty() || !is_there(folder / "config.json")) folder = find_or_make(model);
  return folder;
}

std::optional<fs::path> gguf_file_in(const fs::path& folder) {
  std::error_code ec;
  const fs::path link = folder / kGgufLink;
  if (!fs::is_symlink(fs::symlink_status(link, ec))) return {};
  return fs::read_symlink(link, ec);
}

}  // namespace roll
