#include "checkpoint/store.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "error_of.h"

namespace roll {

using Catch::Contains;
using test::TemporaryFolder;
using testing::error_of;
namespace fs = std::filesystem;

namespace {

void save(const CheckpointStore& store, int64_t step, const Json& about = {{"run", "r"}}) {
  store.begin(step);
  make_folder(store.saving_path(step) / "actor");
  FileSums sums;
  for (const char* file : {"state.json", "actor/model.safetensors"}) {
    write_file_atomic(store.saving_path(step) / file, fmt::format("{} of step {}", file, step));
    sums[file] = sum_of_file(store.saving_path(step) / file);
  }
  store.commit(step, about, sums);
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Json measured(double metric) {
  return {{"run", "r"}, {"metric", metric}};
}

}  // namespace

TEST_CASE("a checkpoint is there when it has its manifest, and latest leads to it", "[checkpoint]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder / "checkpoints");
  CHECK(store.steps().empty());
  store.begin(3);
  CHECK(store.steps().empty());
  CHECK(fs::exists(store.saving_path(3)));
  save(store, 3);
  save(store, 12);
  CHECK(store.steps() == std::vector<int64_t>{3, 12});
  CHECK(fs::canonical(folder / "checkpoints/latest") == fs::canonical(store.path(12)));
  CHECK(names_in(store.folder()) == std::vector<std::string>{"latest", "step_000003", "step_000012"});
  CHECK(find_checkpoint_faults(store.path(3)).damage.empty());
}

TEST_CASE("what has the name of a link is refused before anything is trained, and left alone", "[checkpoint]") {
  const std::string name = GENERATE("latest", "best");
  const TemporaryFolder folder;
  const CheckpointStore store(folder / "checkpoints");
  store.check_links();
  save(store, 1);
  store.check_links();
  CHECK(names_in(store.folder()) == std::vector<std::string>{"latest", "step_000001"});
  fs::remove(store.folder() / name);
  fs::create_directories(store.folder() / name / "actor");
  CHECK_THROWS_WITH(store.check_links(), Catch::Contains("checkpoints/" + name + ": must be a symbolic link") &&
                                             Catch::Contains("remove it"));
  CHECK(fs::exists(store.folder() / name / "actor"));
}

TEST_CASE("each damaged file is named", "[checkpoint]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  save(store, 1);
  const fs::path file = store.path(1) / "actor/model.safetensors";
  const std::string whole = read_file(file);
  const auto fault = [&](const std::string& bytes) {
    write_file_atomic(file, bytes);
    const auto faults = find_checkpoint_faults(store.path(1)).damage;
    return faults.size() == 1 ? faults[0] : fmt::format("{} faults", faults.size());
  };
  CHECK(fault(whole.substr(1)) ==
        fmt::format("actor/model.safetensors: has {} bytes, but {} were written", whole.size() - 1, whole.size()));
  CHECK(fault("A" + whole.substr(1)) ==
        "actor/model.safetensors: the contents have changed since the checkpoint was written");
  fs::remove(file);
  CHECK(find_checkpoint_faults(store.path(1)).damage ==
        std::vector<std::string>{"actor/model.safetensors: is missing"});
  write_file_atomic(file, whole);
  CHECK(find_checkpoint_faults(store.path(1)).damage.empty());
}

TEST_CASE("what lies beside a checkpoint's files is no damage, unless it would be read with them", "[checkpoint]") {
  using Lines = std::vector<std::string>;
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  save(store, 1);
  fs::create_directory(store.path(1) / "notes");
  for (const char* file : {"report.html", "notes/a.json", "actor/README.md"})
    write_file_atomic(store.path(1) / file, "");
  auto [damage, beside] = find_checkpoint_faults(store.path(1));
  std::sort(beside.begin(), beside.end());
  CHECK(damage.empty());
  CHECK(beside == Lines{"actor/README.md: is not in the manifest", "notes/a.json: is not in the manifest",
                        "report.html: is not in the manifest"});
  std::vector<std::string> told;
  CHECK(store.newest_sound([&](const std::string& what) { told.push_back(what); }) == 1);
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], Contains("(and 2 more): nothing reads it"));
  write_file_atomic(store.path(1) / "actor/model.safetensors.index.json", "");
  CHECK(find_checkpoint_faults(store.path(1)).damage ==
        Lines{"actor/model.safetensors.index.json: is not in the manifest"});
}

TEST_CASE("a path in a checkpoint is known, also by its links; other programs' manifests are none", "[checkpoint]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder / "checkpoints");
  save(store, 1);
  const fs::path checkpoint = fs::canonical(store.path(1));
  for (const char* below : {"", "actor", "report.html", "actor/x/y"})
    CHECK(checkpoint_around(folder / "checkpoints/latest" / below) == checkpoint);
  CHECK_FALSE(checkpoint_around(folder / "checkpoints"));
  CHECK_FALSE(checkpoint_around(""));
  CHECK_FALSE(checkpoint_around(folder / "checkpoints/step_000001.superseded"));
  folder.write(kManifestFile, R"({"manifest_version": 3, "name": "an extension"})");
  CHECK_FALSE(checkpoint_around(folder / "report.html"));
  CHECK_THAT(error_of([&] { refuse_in_checkpoint("--out", store.path(1) / "x"); }),
             Contains("--out = ") && Contains("is inside the checkpoint"));
}

TEST_CASE("a manifest knows that it has changed", "[checkpoint]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  save(store, 7, {{"run", "r"}, {"best_metric", 0.1 + 0.2}});
  const fs::path file = store.path(7) / kManifestFile;
  const Json whole = read_json(file);
  CHECK(read_manifest(store.path(7)).step == 7);
  const auto error = [&](const char* key, const Json& value) {
    Json changed = whole;
    changed[key] = value;
    write_file_atomic(file, to_line(changed));
    return error_of([&] { read_manifest(store.path(7)); });
  };
  CHECK(error("run", "r") == "no error");
  for (const auto& [key, value] :
       std::map<const char*, Json>{{"run", "s"}, {"step", 8}, {"best_metric", 0.3}, {"xxh3", nullptr}})
    CHECK_THAT(error(key, value), Contains("manifest.json: has changed since it was written"));
  CHECK_THAT(error("format", 99), Contains("format: a whole number from 0 to 2"));
  Json old = whole;  // of a program that summed no manifest
  old["format"] = 1;
  old.erase("xxh3");
  for (const auto& [step, fits] : std::map<Json, bool>{{0, true}, {INT64_MAX, false}, {-1, false}, {1.5, false}}) {
    old["step"] = step;
    write_file_atomic(file, to_line(old));
    CHECK((error_of([&] { read_manifest(store.path(7)); }) == "no error") == fits);
  }
}

TEST_CASE("a manifest that leads out of its folder, or is none, is refused", "[checkpoint]") {
  const TemporaryFolder folder;
  const auto error = [&](const std::string& manifest) {
    folder.write(kManifestFile, manifest);
    return error_of([&] { find_checkpoint_faults(folder.path()); });
  };
  CHECK_THAT(error(R"({"format": 1, "step": 1, "files": {"../x": {"bytes": 1, "xxh3": ""}}})"),
             Contains("../x: a path inside the folder"));
  CHECK_THAT(error(R"({"format": 1, "step": 1, "files": {"/etc/passwd": {"bytes": 1, "xxh3": ""}}})"),
             Contains("a path inside the folder"));
  CHECK_THAT(error(R"({"format": 1, "step": 1, "files": {"x": {"bytes": "1", "xxh3": ""}}})"),
             Contains("with bytes and xxh3"));
  CHECK_THAT(error(R"({"format": 1, "step": 1, "files": 3})"), Contains("an object is needed"));
  CHECK_THAT(error("[]"), Contains("a JSON object is needed"));
  CHECK_THAT(error(R"({"files": {)"), Contains("not valid JSON"));
  fs::remove(folder / kManifestFile);
  CHECK_THAT(error_of([&] { find_checkpoint_faults(folder.path()); }),
             Contains("is missing: the checkpoint is not complete"));
}

TEST_CASE("the newest checkpoint without a fault is found, and what is wrong with newer ones is said", "[checkpoint]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  std::vector<std::string> told;
  const auto newest = [&] {
    told.clear();
    return store.newest_sound([&](const std::string& what) { told.push_back(what); });
  };
  CHECK_FALSE(newest());
  for (const int64_t step : {1, 2, 3, 4}) save(store, step);
  CHECK(newest() == 4);
  fs::remove(store.path(4) / kManifestFile);
  write_file_atomic(store.path(3) / "state.json", "torn");
  CHECK(newest() == 2);
  REQUIRE(told.size() == 2);
  CHECK_THAT(told[0], Contains("step_000004 is skipped") && Contains("not complete"));
  CHECK_THAT(told[1], Contains("step_000003 is damaged") && Contains("state.json"));
}

TEST_CASE("rotation keeps the newest and the best, and leaves what is not its own", "[checkpoint]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  for (const auto& [step, metric] : std::map<int64_t, double>{{1, 0.5}, {2, 0.9}, {3, 0.7}, {4, 0.1}, {5, 0.2}})
    save(store, step, measured(metric));
  save(store, 6);  // measured nothing
  save(store, 7, {{"run", "another"}, {"metric", 2.0}});
  fs::create_directory(folder / "step_000000");  // somebody's, without a manifest
  const auto best = [&] { return fs::canonical(folder / "best").filename(); };
  store.rotate("r", {.newest = 0, .best = 1});
  CHECK(store.steps().size() == 8);
  CHECK(best() == "step_000002");
  store.rotate("r", {.newest = 2, .best = 2});
  CHECK(store.steps() == std::vector<int64_t>{0, 2, 3, 5, 6, 7});
  CHECK(best() == "step_000002");
  store.rotate("r", {.newest = 1, .best = 1, .greater_is_better = false});
  CHECK(store.steps() == std::vector<int64_t>{0, 5, 6, 7});
  CHECK(best() == "step_000005");
  store.rotate("r", {.newest = 1});
  CHECK(store.steps() == std::vector<int64_t>{0, 6, 7});
  CHECK_FALSE(fs::is_symlink(folder / "best"));  // step 6 measured nothing
}

TEST_CASE("best leads to the newest of equals, and nowhere else than to a checkpoint", "[checkpoint]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  for (const int64_t step : {1, 2, 3}) save(store, step, measured(step == 1 ? 0.1 : 0.5));
  store.rotate("r", {});
  CHECK(fs::canonical(folder / "best") == fs::canonical(store.path(3)));
  store.supersede_after(2);
  CHECK_FALSE(fs::is_symlink(folder / "best"));
  store.rotate("r", {});
  CHECK(fs::canonical(folder / "best") == fs::canonical(store.path(2)));
}

TEST_CASE("what dead runs left is swept; what is superseded loses its name", "[checkpoint]") {
  const TemporaryFolder folder;
  const CheckpointStore store(folder.path());
  for (const int64_t step : {1, 2, 3}) save(store, step);
  store.begin(4);
  fs::create_directory(folder / ".removing_step_000000");
  folder.write("mine.txt", "");
  store.sweep();
  CHECK(store.supersede_after(1) == 2);
  CHECK(store.supersede_after(1) == 0);
  const std::vector<std::string> expected{"latest", "mine.txt", "step_000001", "step_000002.superseded",
                                          "step_000003.superseded"};
  CHECK(names_in(folder.path()) == expected);
  CHECK(store.steps() == std::vector<int64_t>{1});
}

}  // namespace roll
