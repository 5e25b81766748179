#include "base/file_sum.h"

#include <fstream>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"

namespace roll {

namespace fs = std::filesystem;

namespace {
constexpr size_t kReadBytes = size_t{1} << 20;
}

struct RunningSum::State {
  alignas(64) XXH3_state_t xxh3;
  int64_t bytes = 0;
};

RunningSum::RunningSum() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh3);
}

RunningSum::~RunningSum() = default;

void RunningSum::add(std::string_view bytes) {
  XXH3_128bits_update(&state_->xxh3, bytes.data(), bytes.size());
  state_->bytes += static_cast<int64_t>(bytes.size());
}

FileSum RunningSum::sum() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->xxh3);
  return {state_->bytes, fmt::format("{:016x}{:016x}", hash.high64, hash.low64)};
}

FileSum sum_of_file(const fs::path& file) {
  std::error_code ec;
  if (!fs::is_regular_file(file, ec)) throw user_error("{}: no such file", file.string());
  std::ifstream in(file, std::ios::binary);
  RunningSum sum;
  std::vector<char> block(kReadBytes);
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    sum.add({block.data(), static_cast<size_t>(in.gcount())});
  }
  if (!in.eof()) throw user_error("{}: cannot read{}", file.string(), errno_text());
  return sum.sum();
}

}  // namespace roll
