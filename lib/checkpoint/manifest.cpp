#include "checkpoint/manifest.h"

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

/// A path of a manifest that leads out of its folder would let `roll verify` read anything.
bool stays_inside(const fs::path& path) {
  if (path.empty() || path.is_absolute()) return false;
  for (const auto& part : path)
    if (part == "..") return false;
  return true;
}

}  // namespace

Json to_json(const FileSums& sums) {
  Json json = Json::object();
  for (const auto& [path, sum] : sums) json[path] = {{"bytes", sum.bytes}, {"xxh3", sum.xxh3}};
  return json;
}

FileSums sums_from_json(const Json& json, const std::string& origin) {
  if (!json.is_object()) throw user_error("{}: files: an object is needed", origin);
  FileSums sums;
  for (const auto& [path, entry] : json.items()) {
    const bool fits = stays_inside(path) && entry.is_object() && entry.contains("bytes") && entry.contains("xxh3") &&
                      entry["bytes"].is_number_integer() && entry["xxh3"].is_string();
    if (!fits) throw user_error("{}: files: {}: a path below the folder with bytes and xxh3 is needed", origin, path);
    sums[path] = {entry["bytes"].get<int64_t>(), entry["xxh3"].get<std::string>()};
  }
  return sums;
}

void write_manifest(const fs::path& folder, const Manifest& manifest) {
  Json json = manifest.about;
  json["files"] = to_json(manifest.files);
  write_file_atomic(folder / kManifestFile, json.dump(1) + "\n");
}

Manifest read_manifest(const fs::path& folder) {
  const fs::path file = folder / kManifestFile;
  if (!is_there(file)) throw user_error("{}: is missing: the checkpoint is not complete", file.string());
  Manifest manifest{read_json(file), {}};
  if (!manifest.about.is_object()) throw user_error("{}: a JSON object is needed", file.string());
  manifest.files = sums_from_json(manifest.about.value("files", Json()), file.string());
  manifest.about.erase("files");
  return manifest;
}

std::vector<std::string> faults_of(const fs::path& folder) {
  const Manifest manifest = read_manifest(folder);
  std::vector<std::string> faults;
  for (const auto& [path, expected] : manifest.files) {
    std::error_code ec;
    if (!fs::is_regular_file(folder / path, ec)) {
      faults.push_back(path + ": is missing");
      continue;
    }
    const FileSum found = sum_of_file(folder / path);
    if (found.bytes != expected.bytes)
      faults.push_back(fmt::format("{}: {} bytes, but {} were written", path, found.bytes, expected.bytes));
    else if (found.xxh3 != expected.xxh3)
      faults.push_back(fmt::format("{}: its bytes have changed since they were written", path));
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().lexically_relative(folder).string();
    if (entry.is_regular_file() && path != kManifestFile && !manifest.files.contains(path))
      faults.push_back(path + ": is not in the manifest");
  }
  return faults;
}

}  // namespace roll
