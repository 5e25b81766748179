#include "track/tensorboard.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "base/env.h"
#include "base/log.h"
#include "track/tracker.h"

using namespace roll;

namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(command.c_str(), "r");
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  return ::pclose(pipe) == 0 ? text : "failed: " + text;
}

}  // namespace

TEST_CASE("crc32c gives the published check values", "[track]") {
  CHECK(crc32c("123456789") == 0xE3069283u);
  CHECK(crc32c(std::string(32, '\0')) == 0x8A9136AAu);  // RFC 3720, B.4
  CHECK(crc32c(std::string(32, '\xff')) == 0x62A8AB43u);
}

TEST_CASE("events are encoded field by field", "[track]") {
  CHECK(hex(first_event(1.5)) == "09000000000000f83f1a0d627261696e2e4576656e743a32");
  CHECK(hex(scalars_event(1.5, 300, {{"ab", 0.5}})) == "09000000000000f83f10ac022a0b0a090a026162150000003f");
  const std::string frame = tfrecord("x");
  CHECK(frame.size() == 8 + 4 + 1 + 4);
  CHECK(hex(frame.substr(0, 8)) == "0100000000000000");
}

TEST_CASE("TensorBoard's own reader finds every scalar", "[track]") {
  const auto python = env("ROLL_PYTHON");
  if (!python) {
    WARN("skipped: ROLL_PYTHON names no Python with the tensorboard package (scripts/test.sh sets it)");
    return;
  }
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("roll_test_events_{}", ::getpid());
  {
    std::ostringstream out, err;
    Log log(out, err, {});
    Tracker tracker({{TrackerKind::kTensorboard}, folder, folder / "tensorboard"}, log);
    for (int64_t step : {0, 1, 300}) tracker.write(step, {{"score/mean", 0.25 * step}, {"lr", 1e-6}}, 300);
    tracker.write(301, {{"bad", std::nan("")}}, 301);
  }
  const std::string read = output_of(fmt::format("'{}' " ROLL_SOURCE_DIR "/tests/track/read_events.py '{}' 2>/dev/null",
                                                 *python, (folder / "tensorboard").string()));
  std::filesystem::remove_all(folder);
  CHECK(read ==
        "301 bad nan True\n"
        "0 lr 9.999999974752427e-07 True\n1 lr 9.999999974752427e-07 True\n300 lr 9.999999974752427e-07 True\n"
        "0 score/mean 0.0 True\n1 score/mean 0.25 True\n300 score/mean 75.0 True\n");
}
