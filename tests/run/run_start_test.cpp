#include "run/run_start.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "checkpoint/manifest.h"
#include "checkpoint/temporary_folder.h"
#include "dist/local_ranks.h"
#include "dist/single.h"
#include "ops/multiplying.h"

namespace roll {

TEST_CASE("a run that goes on multiplies as it did, on all ranks, if the processor is for it", "[train]") {
  const bool before = multiplies_bfloat16(), by_onednn_before = multiplies_by_onednn();
  const test::Multiplying restored(before, by_onednn_before);
  const Json did = GENERATE(Json(false), Json(true), Json("yes"), Json());
  const test::TemporaryFolder folder;
  const std::filesystem::path checkpoint = folder / "checkpoints/step_000001";
  std::filesystem::create_directories(checkpoint);
  std::ofstream(checkpoint / "config.resolved.yaml") << "seed: 1\n";
  const Json about =
      did.is_null() ? Json::object() : Json{{"multiplies_bfloat16", did}, {"multiplies_float32_by_onednn", did}};
  write_manifest(checkpoint, {.about = about, .files = {}, .step = 1});
  const bool expected = did.is_null() ? before : did == true && has_bfloat16_units();
  const bool by_onednn = did == true && is_for_onednn();  // not where nothing says so: it was written before
  const std::vector<std::string> said = test::run_local_ranks(2, [&](Communicator& ranks) -> std::string {
    std::ostringstream lines;
    Log log(lines, lines, {.rank = ranks.rank(), .num_ranks = 2});
    const RunRequest request{
        .output_dir = folder.path().string(), .resume_from_checkpoint = "true", .resolved_config = "seed: 1\n"};
    const RunStart start = choose_start(request, ranks, log);
    if (!start.resume) return "does not go on";
    const Json found = about_checkpoint(request, start.run);
    if (found["multiplies_float32_by_onednn"] != by_onednn) return "multiplies float32 otherwise";
    return found["multiplies_bfloat16"] == expected ? "" : "multiplies otherwise";
  });
  for (const std::string& text : said) CHECK(text == "");
}

TEST_CASE("a run does not go on with heads that LongRoPE turns otherwise", "[train]") {
  const test::TemporaryFolder folder;
  const std::filesystem::path checkpoint = folder / "checkpoints/step_000001";
  std::filesystem::create_directories(checkpoint);
  std::ofstream(checkpoint / "config.resolved.yaml") << "seed: 1\n";
  const auto goes_on = [&](const Json& about, bool is_long, bool allows) {
    write_manifest(checkpoint, {.about = about, .files = {}, .step = 1});
    std::ostringstream lines;
    Log log(lines, lines, {.rank = 0, .num_ranks = 1});
    const RunRequest request{.output_dir = folder.path().string(),
                             .resume_from_checkpoint = "true",
                             .allow_config_change = allows,
                             .resolved_config = "seed: 1\n",
                             .is_long = is_long};
    const auto world = make_single_communicator();
    const std::string message = test::message_of([&] { choose_start(request, *world, log); });
    return message + lines.str();
  };
  using Catch::Contains;
  const Json then = about_checkpoint({.is_long = true}, "a");
  for (const Json& about : {then, Json::object()})  // and one that was written before anybody asked
    CHECK_THAT(goes_on(about, true, false), Contains("no exception") && !Contains("LongRoPE"));
  CHECK_THAT(goes_on(then, false, false), Contains("LongRoPE") && Contains("long_factor -> short_factor") &&
                                              Contains("val_sequence_length") && Contains("--allow-config-change"));
  CHECK_THAT(goes_on(about_checkpoint({}, "a"), true, true),
             Contains("resuming with another") && Contains("short_factor -> long_factor"));
}

}  // namespace roll
