#include "track/wandb.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "track/crc32.h"
#include "track/protobuf.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

using protobuf::bytes;
using protobuf::whole;

constexpr int64_t kBlockBytes = 32768, kFrameHead = 7;
constexpr std::string_view kFileHead{":W&B\xE1\xBE\x00", 7};  // marker, magic number, version 0

enum Fragment : char { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// Field numbers of a Record.
enum : uint32_t { kNumber = 1, kHistory = 2, kSummary = 3, kConfig = 5, kRun = 17, kExit = 18, kHeader = 21 };

std::string frame(Fragment kind, std::string_view part) {
  const std::string body = std::string(1, kind) + std::string(part);
  const uint32_t crc = crc32<0xEDB88320>(body);
  const auto size = static_cast<uint16_t>(part.size());
  return std::string(reinterpret_cast<const char*>(&crc), sizeof crc) +
         std::string(reinterpret_cast<const char*>(&size), sizeof size) + body;
}

/// Formats a number as W&B reads it: JSON plus NaN and infinities.
std::string json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:.9g}", value);
}

/// Encodes an item of a history, summary or configuration: key = 1, value_json = 16.
std::string wandb_item(const std::string& key, const std::string& json) {
  return bytes(1, bytes(1, key) + bytes(16, json));
}

std::string config_items(const Json& config) {
  std::string items;
  for (const auto& [key, value] : config.items()) items += wandb_item(key, to_line(value));
  return items;
}

class WandbSink : public Sink {
 public:
  explicit WandbSink(const WandbRun& run) : start_s_(wall_clock_s()), file_(find_wandb_file(run.folder, run.id)) {
    if (file_.empty()) {
      const fs::path folder = run.folder / fmt::format("offline-run-{}-{}", local_time_text("%Y%m%d_%H%M%S"), run.id);
      make_folder(folder / "files");
      file_ = folder / fmt::format("run-{}.wandb", run.id);
    }
    if (is_there(file_)) continue_file();
    out_ = open_to_append(file_);
    num_records_ > 0 ? append(bytes(kConfig, config_items(run.config))) : begin(run);  // config may differ
  }

  void write(int64_t step, const MetricValues& values) override {
    std::string items = wandb_item("_step", std::to_string(step)) +
                        wandb_item("_timestamp", fmt::format("{:.3f}", wall_clock_s())) +
                        wandb_item("_runtime", fmt::format("{:.3f}", wall_clock_s() - start_s_));
    for (const auto& [name, value] : values) items += wandb_item(name, json_number(value));
    append(bytes(kHistory, items + bytes(2, whole(1, static_cast<uint64_t>(step)))));
    append(bytes(kSummary, items));
  }

  void finish() override { append(bytes(kExit, "")); }

 private:
  void begin(const WandbRun& run) {
    write_bytes(std::string(kFileHead));
    append(bytes(kHeader, bytes(1, bytes(1, "roll"))));  // version_info.producer
    // run_id, project, config, display_name, start_time
    append(bytes(kRun, bytes(1, run.id) + bytes(3, run.project) + bytes(4, config_items(run.config)) +
                           bytes(8, run.name) + bytes(17, whole(1, static_cast<uint64_t>(start_s_)))));
  }

  /// Continues a truncated file (truncate.h): its records are whole, but the header may be missing.
  void continue_file() {
    std::ifstream in = open_to_read(file_);
    offset_ = static_cast<int64_t>(fs::file_size(file_));
    if (!read_wandb_head(in)) return;
    for (std::string record; read_wandb_record(in, record); ++num_records_)
      if (const auto run = protobuf::find_bytes(record, kRun))
        if (const auto start = protobuf::find_bytes(*run, 17))
          start_s_ = static_cast<double>(protobuf::find_whole(*start, 1).value_or(0));
  }

  void append(const std::string& record) {
    write_bytes(wandb_frames(whole(kNumber, static_cast<uint64_t>(++num_records_)) + record, offset_));
  }

  void write_bytes(const std::string& text) {
    out_ << text << std::flush;
    if (!out_) throw system_error("{}: cannot write{}", file_.string(), errno_text());
    offset_ += std::ssize(text);
  }

  double start_s_;
  fs::path file_;
  std::ofstream out_;
  int64_t offset_ = 0, num_records_ = 0;
};

}  // namespace

fs::path find_wandb_file(const fs::path& folder, const std::string& id) {
  for (const fs::path& entry : list_folder(folder)) {
    const std::string name = entry.filename().string();
    if (name.starts_with("offline-run-") && name.ends_with("-" + id)) return entry / fmt::format("run-{}.wandb", id);
  }
  return {};
}

std::string wandb_frames(std::string_view record, int64_t offset) {
  std::string frames;
  for (bool is_first = true;; is_first = false) {
    int64_t bytes_left = kBlockBytes - (offset + std::ssize(frames)) % kBlockBytes;
    if (bytes_left < kFrameHead) {
      frames.append(static_cast<size_t>(bytes_left), '\0');
      bytes_left = kBlockBytes;
    }
    const std::string_view part = record.substr(0, static_cast<size_t>(bytes_left - kFrameHead));
    record.remove_prefix(part.size());
    const bool is_last = record.empty();
    frames += frame(is_first ? (is_last ? kWhole : kFirst) : (is_last ? kLast : kMiddle), part);
    if (is_last) return frames;
  }
}

bool read_wandb_head(std::istream& in) {
  std::array<char, kFileHead.size()> head{};
  return in.read(head.data(), head.size()) && std::string_view(head.data(), head.size()) == kFileHead;
}

bool read_wandb_record(std::istream& in, std::string& record) {
  record.clear();
  bool has_begun = false;
  for (Fragment kind{}; kind != kWhole && kind != kLast; has_begun = true) {
    const int64_t bytes_left = kBlockBytes - static_cast<int64_t>(in.tellg()) % kBlockBytes;
    if (bytes_left < kFrameHead) in.ignore(bytes_left);
    std::array<char, kFrameHead> head{};
    if (!in.read(head.data(), head.size())) return false;
    uint16_t size = 0;
    std::memcpy(&size, head.data() + 4, sizeof size);
    std::string part(size, '\0');
    if (!in.read(part.data(), size)) return false;
    kind = static_cast<Fragment>(head[6]);
    if (frame(kind, part).compare(0, kFrameHead, head.data(), kFrameHead) != 0) return false;
    if ((kind == kWhole || kind == kFirst) == has_begun) return false;
    record += part;
  }
  return true;
}

bool is_wandb_record_after(std::string_view record, int64_t step) {
  if (protobuf::find_bytes(record, kExit)) return true;
  const auto history = protobuf::find_bytes(record, kHistory);
  const auto number = history ? protobuf::find_bytes(*history, 2) : std::nullopt;
  return number && static_cast<int64_t>(protobuf::find_whole(*number, 1).value_or(0)) > step;
}

std::unique_ptr<Sink> make_wandb_sink(const WandbRun& run) {
  return std::make_unique<WandbSink>(run);
}

}  // namespace roll
