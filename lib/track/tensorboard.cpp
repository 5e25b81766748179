#include "track/tensorboard.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cstring>
#include <fstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "track/tracker.h"

namespace roll {

namespace {

static_assert(std::endian::native == std::endian::little, "TFRecord and protobuf store little-endian numbers");

constexpr std::array<uint32_t, 256> make_crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0);
    table[i] = crc;
  }
  return table;
}

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

/// TFRecord rotates and shifts its checksums, so that a checksum of data with checksums in it stays meaningful.
std::string masked_crc(std::string_view bytes) {
  return raw(std::rotr(crc32c(bytes), 15) + 0xA282EAD8u);
}

// Protobuf wire types.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string key(uint32_t field, Wire wire) {
  return varint(field << 3 | wire);
}

std::string message(uint32_t field, std::string_view bytes) {
  return key(field, kBytes) + varint(bytes.size()) + std::string(bytes);
}

// Event: wall_time = 1, step = 2, file_version = 3, summary = 5. Summary: value = 1. Value: tag = 1, simple_value = 2.
std::string event_time(double wall_time_s) {
  return key(1, kFixed64) + raw(wall_time_s);
}

std::string scalar(const std::string& tag, double value) {
  return message(1, message(1, tag) + key(2, kFixed32) + raw(static_cast<float>(value)));
}

class TensorboardSink : public Sink {
 public:
  TensorboardSink(const std::filesystem::path& folder, const std::string& run) {
    make_folder(folder);
    // TensorBoard looks for "tfevents" and reads the files of a folder in the order of their names.
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
  static constexpr auto kTable = make_crc_table();
  uint32_t crc = ~0u;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 0xFF];
  return ~crc;
}

std::string tfrecord(std::string_view payload) {
  const std::string length = raw(static_cast<uint64_t>(payload.size()));
  return length + masked_crc(length) + std::string(payload) + masked_crc(payload);
}

bool read_tfrecord(std::istream& in, std::string& payload) {
  constexpr uint64_t kLongest = uint64_t{1} << 30;
  std::array<char, 12> head{};
  if (!in.read(head.data(), head.size())) return false;
  uint64_t size = 0;
  std::memcpy(&size, head.data(), sizeof size);
  if (masked_crc({head.data(), 8}) != std::string_view(head.data() + 8, 4) || size > kLongest) return false;
  payload.resize(size);
  std::array<char, 4> crc{};
  if (!in.read(payload.data(), static_cast<std::streamsize>(size)) || !in.read(crc.data(), crc.size())) return false;
  return masked_crc(payload) == std::string_view(crc.data(), crc.size());
}

int64_t step_of_event(std::string_view event) {
  const std::string time = event_time(0), step_key = key(2, kVarint);
  if (event.size() <= time.size() || !event.substr(time.size()).starts_with(step_key)) return 0;
  uint64_t step = 0;
  int shift = 0;
  for (const char byte : event.substr(time.size() + step_key.size())) {
    step |= static_cast<uint64_t>(byte & 0x7F) << shift;
    shift += 7;
    if (!(byte & 0x80) || shift > 56) break;
  }
  return static_cast<int64_t>(step);
}

std::string event_file_mark(const std::string& run) {
  return fmt::format(".roll-{}.", run);
}

std::string first_event(double wall_time_s) {
  return event_time(wall_time_s) + message(3, "brain.Event:2");
}

std::string scalars_event(double wall_time_s, int64_t step, const MetricValues& values) {
  std::string summary;
  for (const auto& [name, value] : values) summary += scalar(name, value);
  return event_time(wall_time_s) + key(2, kVarint) + varint(static_cast<uint64_t>(step)) + message(5, summary);
}

std::unique_ptr<Sink> make_tensorboard_sink(const std::filesystem::path& folder, const std::string& run) {
  return std::make_unique<TensorboardSink>(folder, run);
}

}  // namespace roll
