#include "base/file.h"

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"

namespace roll {

using Catch::Contains;
using test::message_of;
using test::TemporaryFolder;

namespace {

std::string numbered_bytes(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

}  // namespace

TEST_CASE("a file is what was appended, whatever the sizes, and its sum is that of its bytes", "[base]") {
  const TemporaryFolder folder;
  const auto file = folder / "f";
  constexpr size_t kBlock = size_t{256} << 10;
  for (const size_t size : {size_t{0}, size_t{1}, kBlock - 1, kBlock, kBlock + 1, 3 * kBlock, 3 * kBlock + 777})
    for (const size_t piece : {size_t{1000}, kBlock, 5 * kBlock}) {
      const std::string bytes = numbered_bytes(size);
      const FileSum sum = write_file_atomic(file, [&](const AppendBytes& append) {
        for (size_t at = 0; at < size; at += piece) append(std::string_view(bytes).substr(at, piece));
      });
      CHECK(read_file(file) == bytes);
      CHECK(sum == sum_of_file(file));
      CHECK(sum.bytes == static_cast<int64_t>(size));
    }
}

TEST_CASE("sums are XXH3-128 as its authors print it", "[base]") {
  RunningSum sum;
  CHECK(sum.sum().xxh3 == "99aa06d3014798d86001c324468d497f");  // of nothing: xxHash's specification
  sum.add("a");
  sum.add("bc");
  RunningSum whole;
  whole.add("abc");
  CHECK(sum.sum() == whole.sum());
  CHECK(sum.sum().xxh3 != RunningSum().sum().xxh3);
}

TEST_CASE("a file that cannot be written is named, and nothing of it stays", "[base]") {
  const TemporaryFolder folder;
  CHECK_THAT(message_of([&] { write_file_atomic(folder / "none" / "f", "x"); }), Contains("none"));
  write_file_atomic(folder / "f", "old");
  CHECK_THAT(message_of([&] {
               write_file_atomic(folder / "f", [](const AppendBytes& append) {
                 append("new");
                 throw std::runtime_error("stopped");
               });
             }),
             Contains("stopped"));
  CHECK(read_file(folder / "f") == "old");
  CHECK(list_folder(folder.path()).size() == 1);
}

}  // namespace roll
