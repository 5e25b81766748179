#include "checkpoint/manifest.h"

#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json_object.h"

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

constexpr const char* kSumKey = "xxh3";

/// Returns the checksum of a manifest without its checksum field.
std::string manifest_sum(const Json& manifest) {
  RunningSum sum;
  sum.add(to_line(manifest));
  return sum.sum().xxh3;
}

int64_t whole_number(const Json& about, const char* name, int64_t largest, const std::string& origin) {
  const auto value = about.find(name);
  if (value == about.end() || !value->is_number_unsigned() || value->get<uint64_t>() > static_cast<uint64_t>(largest))
    throw user_error("{}: {}: a whole number from 0 to {} is needed", origin, name, largest);
  return value->get<int64_t>();
}

/// Checks the format and the manifest's own checksum; removes the checksum from `about`.
void check_manifest_sum(Json& about, const std::string& origin) {
  const int64_t format = whole_number(about, "format", kManifestFormat, origin);
  const Json stored_sum = about.value(kSumKey, Json());
  about.erase(kSumKey);
  if (format > 1 && stored_sum != manifest_sum(about)) throw user_error("{}: has changed since it was written", origin);
}

/// Returns how the file differs from what was written; "" if it does not.
std::string file_fault(const fs::path& file, const FileSum& expected) {
  std::error_code ec;
  if (!fs::is_regular_file(file, ec)) return is_there(file) ? "is not a file" : "is missing";
  const FileSum found = sum_of_file(file);
  if (found.bytes != expected.bytes)
    return fmt::format("has {} bytes, but {} were written", found.bytes, expected.bytes);
  return found.xxh3 == expected.xxh3 ? "" : "the contents have changed since the checkpoint was written";
}

/// Returns true if a reader of this model's or optimizer's folder would read the file too.
bool is_taken_for_part(const fs::path& path, const FileSums& files) {
  static const std::set<std::string> kRead = {".json", ".safetensors", ".jinja"};
  const std::string folder = path.parent_path().string() + "/";
  const auto beside = files.lower_bound(folder);
  return path.has_parent_path() && kRead.contains(path.extension().string()) && beside != files.end() &&
         beside->first.starts_with(folder);
}

/// Returns true if the manifest is ours; other programs write a manifest.json, too.
bool is_checkpoint(const fs::path& folder) {
  if (!is_there(folder / kManifestFile)) return false;
  try {
    read_manifest(folder);
    return true;
  } catch (const UserError&) {
    return false;
  }
}

}  // namespace

Json to_json(const FileSums& sums) {
  Json json = Json::object();
  for (const auto& [path, sum] : sums) add_new(json, path, {{"bytes", sum.bytes}, {"xxh3", sum.xxh3}});
  return json;
}

FileSums sums_from_json(const Json& json, const std::string& origin) {
  if (!json.is_object()) throw user_error("{}: files: an object is needed", origin);
  FileSums sums;
  for (const auto& [path, entry] : json.items()) {
    const bool fits = stays_inside(path) && entry.is_object() && entry.contains("bytes") && entry.contains("xxh3") &&
                      entry["bytes"].is_number_integer() && entry["xxh3"].is_string();
    if (!fits)
      throw user_error("{}: files: {}: a path inside the folder, with bytes and xxh3, is needed", origin, path);
    sums[path] = {entry["bytes"].get<int64_t>(), entry["xxh3"].get<std::string>()};
  }
  return sums;
}

void write_manifest(const fs::path& folder, const Manifest& manifest) {
  Json json{{"format", kManifestFormat}, {"step", manifest.step}};
  json.update(manifest.about);
  json["files"] = to_json(manifest.files);
  json[kSumKey] = manifest_sum(json);
  write_file_atomic(folder / kManifestFile, json.dump(1) + "\n");
}

Manifest read_manifest(const fs::path& folder) {
  const fs::path file = folder / kManifestFile;
  if (!is_there(file)) throw user_error("{}: is missing: the checkpoint is not complete", file.string());
  Manifest manifest{read_json(file), {}};
  if (!manifest.about.is_object()) throw user_error("{}: a JSON object is needed", file.string());
  check_manifest_sum(manifest.about, file.string());
  manifest.step = whole_number(manifest.about, "step", kLastStep, file.string());
  manifest.files = sums_from_json(manifest.about.value("files", Json()), file.string());
  manifest.about.erase("files");
  return manifest;
}

CheckpointFaults find_checkpoint_faults(const fs::path& folder) {
  const Manifest manifest = read_manifest(folder);
  CheckpointFaults faults;
  for (const auto& [path, expected] : manifest.files)
    if (const std::string fault = file_fault(folder / path, expected); !fault.empty())
      faults.damage.push_back(path + ": " + fault);
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().lexically_relative(folder).string();
    std::error_code ec;
    if (entry.is_directory(ec) || path == kManifestFile || manifest.files.contains(path)) continue;
    auto& lines = is_taken_for_part(path, manifest.files) ? faults.damage : faults.beside;
    lines.push_back(path + ": is not in the manifest");
  }
  return faults;
}

std::optional<fs::path> checkpoint_around(const fs::path& path) {
  std::error_code ec;
  fs::path folder = fs::weakly_canonical(fs::absolute(path, ec), ec);
  while (!ec && !is_checkpoint(folder) && folder.has_relative_path()) folder = folder.parent_path();
  return is_checkpoint(folder) ? std::optional(folder) : std::nullopt;
}

void refuse_in_checkpoint(const std::string& name, const fs::path& path) {
  if (const auto checkpoint = checkpoint_around(path))
    throw user_error("{} = {}: is inside the checkpoint {}, which must not change; choose another folder", name,
                     path.string(), checkpoint->string());
}

}  // namespace roll
