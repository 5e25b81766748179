#include "checkpoint/safetensors.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "checkpoint/temporary_folder.h"

namespace roll {

using Catch::Contains;
using test::message_of;
using test::TemporaryFolder;

namespace {

/// The bytes of a file with this header and `data_bytes` zeros.
std::string make_file(const std::string& header, size_t data_bytes) {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + std::string(data_bytes, '\0');
}

std::string refusal(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto file = folder.write("x.safetensors", bytes);
  std::string message = "no exception";
  try {
    SafetensorsFile opened(file);
  } catch (const UserError& e) {
    message = e.what();
  }
  return message;
}

}  // namespace

TEST_CASE("every dtype survives a safetensors file bit by bit", "[checkpoint]") {
  const TemporaryFolder folder;
  NamedTensors tensors;
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong, at::kInt, at::kShort,
                           at::kChar, at::kByte, at::kBool})
    tensors.emplace_back(at::toString(dtype), at::arange(-7, 8).reshape({3, 5}).to(dtype));
  tensors.emplace_back("scalar", at::tensor(2.5f).reshape({}));
  tensors.emplace_back("empty", at::empty({0, 4}));
  write_safetensors(folder / "a.safetensors", tensors);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);  // nothing temporary is left
  const SafetensorsFile file(folder / "a.safetensors");
  CHECK_THAT(message_of([&] { file.read("other"); }), Contains("holds no tensor other"));
  CHECK_THAT(read_file(folder / "a.safetensors"), Contains(R"({"__metadata__":{"format":"pt"},)"));
  REQUIRE(file.entries().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor found = file.read(name);
    CHECK(found.scalar_type() == tensor.scalar_type());
    CHECK(at::equal(found, tensor));
  }
}

TEST_CASE("a tensor outlives its file, and writing to it leaves the file alone", "[checkpoint]") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a.safetensors", {{"w", at::ones({4})}});
  at::Tensor kept;
  {
    const SafetensorsFile file(folder / "a.safetensors");
    kept = file.read("w");
  }
  kept.fill_(7);
  CHECK(at::equal(SafetensorsFile(folder / "a.safetensors").read("w"), at::ones({4})));
  CHECK(kept.sum().item<float>() == 28);
}

TEST_CASE("views and non-contiguous tensors are written by value", "[checkpoint]") {
  const TemporaryFolder folder;
  const at::Tensor base = at::arange(12, at::kFloat).reshape({3, 4});
  write_safetensors(folder / "a.safetensors", {{"t", base.t()}, {"column", base.select(1, 2)}});
  const SafetensorsFile file(folder / "a.safetensors");
  CHECK(at::equal(file.read("t"), base.t()));
  CHECK(at::equal(file.read("column"), base.select(1, 2)));
}

TEST_CASE("a file whose data is not aligned is read", "[checkpoint]") {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} )";
  const TemporaryFolder folder;
  REQUIRE((8 + header.size()) % 4 != 0);
  const SafetensorsFile file(folder.write("x.safetensors", make_file(header, 8)));
  CHECK(at::equal(file.read("a"), at::zeros({2})));
}

TEST_CASE("data is written aligned, and aligned in memory even where a file's is not", "[checkpoint]") {
  const TemporaryFolder folder;
  const auto offset = [](const at::Tensor& tensor) { return reinterpret_cast<uintptr_t>(tensor.data_ptr()) % 8; };
  write_safetensors(folder / "a.safetensors", {{"w1", at::ones({2}, at::kDouble)}});
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, read_file(folder / "a.safetensors").data(), sizeof header_bytes);
  CHECK(header_bytes % 8 == 0);
  for (int blanks = 0; blanks < 8; ++blanks) {
    const std::string header = R"({"w":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}})" + std::string(blanks, ' ');
    CHECK(offset(SafetensorsFile(folder.write("b.safetensors", make_file(header, 16))).read("w")) == 0);
  }
}

TEST_CASE("a damaged safetensors file is refused with what is wrong", "[checkpoint]") {
  CHECK_THAT(refusal(""), Contains("too few"));
  CHECK_THAT(refusal("abc"), Contains("too few"));
  CHECK_THAT(refusal(std::string(8, '\xff')), Contains("truncated or not a safetensors file, fetch it again"));
  CHECK_THAT(refusal(make_file("{\"a\":", 0).substr(0, 9)), Contains("the header should have 5 bytes, the file has 9"));
  CHECK_THAT(refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), Contains("a git-lfs pointer"));
  CHECK_THAT(refusal(make_file("{\"a\":", 0)), Contains("not valid JSON"));
  CHECK_THAT(refusal(make_file("[1]", 0)), Contains("an object is needed"));
  CHECK_THAT(refusal(make_file(R"({"a":3})", 0)), Contains("a: number where an object is needed"));
  CHECK_THAT(refusal(make_file(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", 4)), Contains("a: dtype"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"Q4","shape":[1],"data_offsets":[0,4]}})", 4)), Contains("dtype = Q4"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4)), Contains("shape"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4)), Contains("shape"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4)),
             Contains("begin <= end"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8)),
             Contains("span 8 bytes") && Contains("[3] takes 12"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4)),
             Contains("ends at byte 8 of 4") && Contains("truncated"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 6)),
             Contains("2 bytes after"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8)),
             Contains("4 bytes before it"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                               R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                               8)),
             Contains("b: its bytes overlap"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                               R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                               1)),
             Contains("a: occurs twice"));
  CHECK_THAT(refusal(make_file(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})", 0)),
             Contains("address space"));
  CHECK_THAT(refusal(make_file(R"({"__metadata__":{"x":1}})", 0)), Contains("__metadata__: x"));
}

TEST_CASE("a safetensors file that does not exist, or is a folder, is named", "[checkpoint]") {
  const TemporaryFolder folder;
  CHECK_THAT(message_of([&] { SafetensorsFile(folder / "none.safetensors"); }),
             Contains("none.safetensors: cannot open") && Contains("No such file"));
  CHECK_THAT(message_of([&] { SafetensorsFile(folder.path()); }), Contains("not a regular file"));
}

TEST_CASE("mutated headers either open or are refused, never worse", "[checkpoint]") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a.safetensors",
                    {{"a", at::ones({3, 5})}, {"b", at::ones({7}, at::kBFloat16)}, {"c", at::ones({2}, at::kLong)}});
  const std::string good = read_file(folder / "a.safetensors");
  int opened = 0, refused = 0;
  for (uint32_t trial = 0; trial < 1000; ++trial) {
    std::string bytes = good;
    const auto draw = [&](uint32_t n) {
      return std::to_array(named_words({.seed = 9, .purpose = 1, .step = trial, .position = n}).word);
    };
    for (uint32_t edit = 0; edit <= trial % 3; ++edit) {
      const auto words = draw(edit);
      const size_t at = words[0] % (trial % 2 ? bytes.size() : 250);
      if (words[1] % 4 == 0) bytes.erase(at, 1 + words[2] % 20);
      if (words[1] % 4 == 1)
        bytes.insert(at, 1 + words[2] % 3, static_cast<char>("0123456789{}[],\"-e."[words[3] % 19]));
      if (words[1] % 4 >= 2) bytes[at % bytes.size()] = static_cast<char>(words[2] % (words[1] % 4 == 2 ? 256 : 128));
    }
    const auto file = folder.write("mutated.safetensors", bytes);
    try {
      const SafetensorsFile mutated(file);
      for (const auto& entry : mutated.entries()) mutated.read(entry.name).sum();
      ++opened;
    } catch (const UserError&) {
      ++refused;
    }
  }
  CHECK(opened > 30);  // edits of the data, of names
  CHECK(refused > 300);
}

}  // namespace roll
