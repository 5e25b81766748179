// Expands paths, globs, folders and Hub data sets to files.
#include <glob.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/file.h"
#include "checkpoint/hub_cache.h"
#include "data/row_files.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxFolderDepth = 8;
constexpr std::array<std::string_view, 6> kSplits = {"train", "test", "validation", "valid", "val", "dev"};
constexpr std::array<std::string_view, 6> kDataEndings = {".jsonl", ".json", ".ndjson", ".parquet", ".csv", ".tsv"};

struct FileInFolder {
  fs::path file;
  std::string split;   // "" if the name shows no split
  std::string folder;  // relative to the named folder, without the split's folder
};

bool is_data_file(fs::path file) {
  if (file.extension() == ".gz" || file.extension() == ".zst") file = file.stem();
  return std::ranges::find(kDataEndings, file.extension().string()) != kDataEndings.end();
}

/// Returns "train" for train-00000-of-00002.parquet, train.jsonl and train_1.csv.
std::string parse_split(const std::string& name) {
  const std::string word = name.substr(0, name.find_first_of("-_."));
  return std::ranges::find(kSplits, word) == kSplits.end() ? "" : word;
}

FileInFolder describe_file(const fs::path& folder, const fs::path& file) {
  std::string split = parse_split(file.filename());
  fs::path subfolder = file.parent_path().lexically_relative(folder);
  if (split.empty() && parse_split(subfolder.filename()) == subfolder.filename().string()) {
    split = subfolder.filename();
    subfolder = subfolder.parent_path();
  }
  return {file, split, subfolder == "." ? "" : subfolder.string()};
}

void add_files(const fs::path& root, const fs::path& folder, int depth, std::vector<FileInFolder>& found) {
  std::vector<fs::path> entries = list_folder(folder);
  std::ranges::sort(entries);
  for (const fs::path& entry : entries) {
    if (entry.filename().string().starts_with('.')) continue;
    if (is_folder(entry) && depth < kMaxFolderDepth)
      add_files(root, entry, depth + 1, found);
    else if (is_data_file(entry))
      found.push_back(describe_file(root, entry));
  }
}

/// Lists the distinct values of a part of the files as "a, b".
template <class F>
std::string list_values(const std::vector<FileInFolder>& files, const F& field) {
  std::set<std::string> values;
  for (const FileInFolder& file : files) values.insert(field(file).empty() ? "(others)" : field(file));
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

/// `name`: as the user wrote it, for errors.
std::vector<fs::path> expand_folder(const fs::path& folder, const std::string& name,
                                    const std::optional<std::string>& split) {
  std::vector<FileInFolder> found;
  add_files(folder, folder, 0, found);
  if (found.empty())
    throw user_error("{}: this folder has no row files (.jsonl, .json, .parquet, .csv, .tsv, also with .gz or .zst)",
                     name);
  const std::string splits = list_values(found, [](const FileInFolder& file) { return file.split; });
  if (split) std::erase_if(found, [&](const FileInFolder& file) { return file.split != *split; });
  if (found.empty())
    throw user_error(
        "{}: has no files of the split {}; its splits are: {}; set data_args.split to a split of this list", name,
        *split, splits);
  const auto differs = [&](const auto& field) {
    return [&, field](const FileInFolder& file) { return file.*field != found[0].*field; };
  };
  if (std::ranges::any_of(found, differs(&FileInFolder::split)))
    throw user_error("{}: has several splits: {}; set data_args.split to one", name, splits);
  if (std::ranges::any_of(found, differs(&FileInFolder::folder)))
    throw user_error("{}: has rows in several folders: {}; name one folder, for example {}/{}", name,
                     list_values(found, [](const FileInFolder& file) { return file.folder; }), name,
                     found.back().folder);
  std::vector<fs::path> files;
  for (const FileInFolder& file : found) files.push_back(file.file);
  return files;
}

/// Expands a path or glob; empty if nothing matches. An existing path is never a glob, whatever its characters.
std::vector<fs::path> expand_glob(const std::string& pattern) {
  if (is_there(pattern)) return {pattern};
  glob_t found{};
  const int status = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<fs::path> files;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return files;
}

/// Returns the folders that a pattern names.
std::vector<fs::path> find_folders(const std::string& pattern) {
  std::vector<fs::path> paths = expand_glob(pattern);
  if (const auto dataset = paths.empty() ? find_dataset_folder(pattern) : std::nullopt) return {*dataset};
  std::erase_if(paths, [](const fs::path& path) { return !is_folder(path); });
  return paths;
}

std::vector<fs::path> expand_pattern(const std::string& pattern, const std::optional<std::string>& split) {
  const std::vector<fs::path> paths = expand_glob(pattern);
  if (const auto dataset = paths.empty() ? find_dataset_folder(pattern) : std::nullopt)
    return expand_folder(*dataset, pattern, split);
  if (paths.empty())
    throw user_error("{}: no such file; give the path of a row file, a list of paths, a glob, a folder{}", pattern,
                     is_hub_name(dataset_repository(pattern)) && !is_data_file(pattern)
                         ? fmt::format(", or a data set in the Hub cache {} (hf download {} --repo-type dataset)",
                                       hub_cache().string(), dataset_repository(pattern))
                         : "");
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!is_folder(path)) {
      files.push_back(path);
      continue;
    }
    for (fs::path& file : expand_folder(path, path.string(), split)) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

std::optional<std::string> usual_split(const std::vector<std::string>& patterns,
                                       const std::vector<std::string>& usual) {
  for (const std::string& pattern : patterns)
    for (const fs::path& folder : find_folders(pattern)) {
      std::vector<FileInFolder> found;
      add_files(folder, folder, 0, found);
      std::set<std::string> splits;
      for (const FileInFolder& file : found) splits.insert(file.split);
      for (const std::string& split : usual)
        if (splits.size() > 1 && splits.contains(split)) return split;
    }
  return std::nullopt;
}

std::vector<fs::path> expand_files(const std::vector<std::string>& patterns, const std::optional<std::string>& split) {
  if (patterns.empty()) throw UserError("[]: names no file; give the path of a row file, a list of paths, or a glob");
  std::vector<fs::path> files;
  std::set<fs::path> seen;
  for (const std::string& pattern : patterns) {
    for (const fs::path& file : expand_pattern(pattern, split)) {
      std::error_code ec;
      const fs::path canonical = fs::weakly_canonical(file, ec);
      if (ec == std::errc::too_many_symbolic_link_levels)
        throw user_error("{}: a loop of symbolic links; give a row file", file.string());
      if (ec) throw user_error("{}: cannot be accessed ({})", file.string(), ec.message());
      if (!fs::is_regular_file(file, ec) && fs::exists(file, ec))
        throw user_error("{}: is a pipe or device, but rows are read twice; write the rows to a file first",
                         file.string());
      if (!seen.insert(canonical).second)
        throw user_error("{}: names {} a second time; remove one name, or the rows would count twice", pattern,
                         file.string());
      files.push_back(file);
    }
  }
  return files;
}

}  // namespace roll
