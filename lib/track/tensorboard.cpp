#include "track/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "track/crc32.h"
#include "track/protobuf.h"
#include "track/tracker.h"

namespace roll {

namespace {

static_assert(std::endian::native == std::endian::little, "TFRecord stores little-endian numbers");

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// TFRecord masks checksums, so that the CRC of data with embedded CRCs stays meaningful.
std::string masked_crc(std::string_view bytes) {
  return raw(std::rotr(crc32c(bytes), 15) + 0xA282EAD8u);
}

// Field numbers. Event: wall_time = 1, step = 2, file_version = 3, summary = 5. Summary: value = 1. Value: tag = 1,
// simple_value = 2.
std::string event_time(double wall_time_s) {
  return protobuf::number(1, wall_time_s);
}

std::string scalar(const std::string& tag, double value) {
  return protobuf::bytes(1, protobuf::bytes(1, tag) + protobuf::number(2, static_cast<float>(value)));
}

class TensorboardSink : public Sink {
 public:
  TensorboardSink(const std::filesystem::path& folder, const std::string& run) {
    make_folder(folder);
    // TensorBoard requires "tfevents" in the name and reads a folder's files in name order.
    file_ = folder / fmt::format("events.out.tfevents.{:010.0f}{}{}", wall_clock_s(), event_file_mark(run), ::getpid());
    out_.open(file_, std::ios::binary | std::ios::app);
    append(first_event(wall_clock_s()));
  }
  void write(int64_t step, const MetricValues& values) override { append(scalars_event(wall_clock_s(), step, values)); }

 private:
  void append(const std::string& event) {
    out_ << tfrecord(event) << std::flush;
    if (!out_) throw system_error("{}: cannot write{}", file_.string(), errno_text());
  }

  std::filesystem::path file_;
  std::ofstream out_;
};

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  return crc32<0x82F63B78>(bytes);
}

std::string tfrecord(std::string_view payload) {
  const std::string length = raw(static_cast<uint64_t>(payload.size()));
  return length + masked_crc(length) + std::string(payload) + masked_crc(payload);
}

bool read_tfrecord(std::istream& in, std::string& payload) {
  constexpr uint64_t kMaxPayloadBytes = uint64_t{1} << 30;
  std::array<char, 12> head{};
  if (!in.read(head.data(), head.size())) return false;
  uint64_t size = 0;
  std::memcpy(&size, head.data(), sizeof size);
  if (masked_crc({head.data(), 8}) != std::string_view(head.data() + 8, 4) || size > kMaxPayloadBytes) return false;
  payload.resize(size);
  std::array<char, 4> crc{};
  if (!in.read(payload.data(), static_cast<std::streamsize>(size)) || !in.read(crc.data(), crc.size())) return false;
  return masked_crc(payload) == std::string_view(crc.data(), crc.size());
}

int64_t step_of_event(std::string_view event) {
  return static_cast<int64_t>(protobuf::find_whole(event, 2).value_or(0));
}

std::string event_file_mark(const std::string& run) {
  return fmt::format(".roll-{}.", run);
}

std::string first_event(double wall_time_s) {
  return event_time(wall_time_s) + protobuf::bytes(3, "brain.Event:2");
}

std::string scalars_event(double wall_time_s, int64_t step, const MetricValues& values) {
  std::string summary;
  for (const auto& [name, value] : values) summary += scalar(name, value);
  return event_time(wall_time_s) + protobuf::whole(2, static_cast<uint64_t>(step)) + protobuf::bytes(5, summary);
}

std::unique_ptr<Sink> make_tensorboard_sink(const std::filesystem::path& folder, const std::string& run) {
  return std::make_unique<TensorboardSink>(folder, run);
}

}  // namespace roll
