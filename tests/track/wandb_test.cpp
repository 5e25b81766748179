#include "track/wandb.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "track/crc32.h"
#include "track/protobuf.h"

namespace roll {

namespace {

struct ShownFrame {
  int64_t at, size;
  int kind;
  bool operator==(const ShownFrame&) const = default;
};

/// The frames of a record that begins `offset` bytes into a file, and what is read back.
std::pair<std::vector<ShownFrame>, std::string> written_at(int64_t offset, const std::string& record) {
  const std::string bytes = wandb_frames(record, offset);
  std::vector<ShownFrame> frames;
  for (int64_t at = 0; at < std::ssize(bytes);) {
    if (const int64_t left = 32768 - (offset + at) % 32768; left < 7) at += left;
    const auto size = static_cast<uint8_t>(bytes[at + 4]) + 256 * static_cast<uint8_t>(bytes[at + 5]);
    frames.push_back({offset + at, size, bytes[at + 6]});
    at += 7 + size;
  }
  std::istringstream in(std::string(static_cast<size_t>(offset), 'x') + bytes);
  in.seekg(offset);
  std::string read;
  CHECK(read_wandb_record(in, read));
  CHECK(in.tellg() == offset + std::ssize(bytes));
  return {frames, read};
}

}  // namespace

TEST_CASE("CRC-32 gives the published check value", "[track]") {
  CHECK(crc32<0xEDB88320>("123456789") == 0xCBF43926u);
}

TEST_CASE("a W&B record is cut where blocks of 32 KB end", "[track]") {
  const std::string record(100, 'r'), large(70'000, 'l');
  using Frames = std::vector<ShownFrame>;
  CHECK(written_at(7, record) == std::pair(Frames{{7, 100, 1}}, record));
  CHECK(written_at(32768 - 107, record) == std::pair(Frames{{32661, 100, 1}}, record));  // it just fits
  CHECK(written_at(32768 - 106, record) == std::pair(Frames{{32662, 99, 2}, {32768, 1, 4}}, record));
  CHECK(written_at(32768 - 7, record) == std::pair(Frames{{32761, 0, 2}, {32768, 100, 4}}, record));
  CHECK(written_at(32768 - 6, record) == std::pair(Frames{{32768, 100, 1}}, record));  // no head has room
  CHECK(written_at(0, large) == std::pair(Frames{{0, 32761, 2}, {32768, 32761, 3}, {65536, 4478, 4}}, large));
}

TEST_CASE("a W&B record that is not whole or not sound is the end of what is read", "[track]") {
  const std::string whole = wandb_frames("first", 0) + wandb_frames("second", 12);
  for (size_t size = 0; size < whole.size(); ++size) {
    std::istringstream in(whole.substr(0, size));
    std::string record;
    int count = 0;
    while (read_wandb_record(in, record)) ++count;
    CHECK(count == (size >= 12 ? 1 : 0));
  }
  std::string changed = whole;
  changed[9] ^= 1;
  std::istringstream in(changed);
  std::string record;
  CHECK_FALSE(read_wandb_record(in, record));
}

TEST_CASE("fields of a message are found by their numbers, in what is a message", "[track]") {
  using namespace protobuf;
  const std::string message = whole(1, 300) + number(2, 1.5) + number(3, 0.5F) + bytes(200, "text") + whole(4, ~0ULL);
  CHECK(find_whole(message, 1) == 300);
  CHECK(find_whole(message, 4) == ~0ULL);
  CHECK(find_bytes(message, 200) == "text");
  CHECK_FALSE(find_whole(message, 200));
  CHECK_FALSE(find_bytes(message, 5));
  CHECK_FALSE(find_whole(message.substr(0, message.size() - 1), 4));
  CHECK_FALSE(find_bytes(std::string("\x0a\x7fx"), 1));  // longer than the message
  CHECK_FALSE(find_whole(std::string(20, '\xff'), 1));   // a varint without an end
}

}  // namespace roll
