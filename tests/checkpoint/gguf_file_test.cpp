#include "checkpoint/gguf/gguf_file.h"

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "checkpoint/gguf/model_config.h"
#include "checkpoint/gguf/tensor_names.h"
#include "checkpoint/gguf/tokenizer_json.h"
#include "checkpoint/gguf_bytes.h"
#include "checkpoint/temporary_folder.h"

namespace roll {

using Catch::Contains;
using test::bytes_of;
using test::gguf_text;
using test::GgufBytes;
using test::message_of;
using test::small_gguf;
using test::TemporaryFolder;

namespace {

std::string refusal_of(const std::string& bytes) {
  const TemporaryFolder folder;
  const auto path = folder.write("x.gguf", bytes);
  return message_of([&] { gguf::File file(path); });
}

std::string refusal_after(const std::function<void(GgufBytes&)>& change) {
  GgufBytes file = small_gguf();
  change(file);
  return refusal_of(file.whole());
}

std::string from_hex(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) bytes += static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16));
  return bytes;
}

}  // namespace

TEST_CASE("metadata and tensors of a GGUF file are read in versions 2 and 3", "[checkpoint]") {
  const TemporaryFolder folder;
  for (const uint32_t version : {2, 3}) {
    GgufBytes bytes = small_gguf();
    bytes.version = version;
    bytes.add("a.double", 12, 2.5);
    bytes.add("a.negative", 5, int32_t{-3});
    bytes.add("a.flag", 7, true);
    bytes.add_list("a.list", 2, {bytes_of(uint16_t{7}), bytes_of(uint16_t{8})});
    const gguf::File file(folder.write("x.gguf", bytes.whole()));
    CHECK(file.text("general.architecture") == "llama");
    CHECK(file.number("a.double") == 2.5);
    CHECK(file.number("a.negative") == -3);
    CHECK(file.number("llama.attention.layer_norm_rms_epsilon") == 1e-5);  // not float32's 9.99999975e-06
    CHECK(file.flag("a.flag") == true);
    CHECK(file.numbers("a.list") == std::vector<double>{7, 8});
    CHECK(file.texts("tokenizer.ggml.tokens")->at(2) == "ab");
    CHECK(file.text("absent") == std::nullopt);
    CHECK_THAT(message_of([&] { file.count("a.negative"); }), Contains("a.negative = -3: a whole number of 0"));
    CHECK_THAT(message_of([&] { file.text("a.flag"); }), Contains("a.flag = true: a string is needed"));
    CHECK(file.find_tensor("token_embd.weight")->shape == std::vector<int64_t>{4, 8});
    CHECK(reinterpret_cast<const float*>(file.find_tensor("blk.0.ffn_down.weight")->data)[31] == 31);
  }
}

TEST_CASE("a damaged GGUF file is refused where it is damaged", "[checkpoint]") {
  const std::string sound = small_gguf().whole();
  CHECK(refusal_of(sound) == "no exception");
  CHECK_THAT(refusal_of("GGML" + sound.substr(4)), Contains("begins with other bytes than GGUF"));
  CHECK_THAT(refusal_of(""), Contains("the head takes 4 bytes at byte 0, the file has 0"));
  CHECK_THAT(refusal_of(sound.substr(0, 300)), Contains("the file is cut off"));
  CHECK_THAT(refusal_of(sound.substr(0, sound.size() - 1)), Contains("ffn_down.weight: 128 bytes at"));
  CHECK_THAT(refusal_after([](GgufBytes& f) { f.version = 4; }), Contains("version = 4: only 2 and 3"));
  CHECK_THAT(refusal_after([](GgufBytes& f) { f.version = 3 << 24; }), Contains("big-endian"));
  std::string many = sound;
  many.replace(8, 8, bytes_of(uint64_t{1} << 60));
  CHECK_THAT(refusal_of(many), Contains("tensors; at most 1000000 are read"));
  many = sound;
  many.replace(16, 8, bytes_of(uint64_t{1} << 60));
  CHECK_THAT(refusal_of(many), Contains("keys; at most 100000 are read"));
  CHECK_THAT(refusal_after([](GgufBytes& f) { f.add("general.architecture", "llama"); }),
             Contains("the key is there twice"));
  CHECK_THAT(refusal_after([](GgufBytes& f) { f.add("k", 13, 1); }), Contains("k: type 13 of a value is unknown"));
  CHECK_THAT(refusal_after([](GgufBytes& f) { f.add_list("k", 9, {}); }), Contains("k: type 9 of a value is unknown"));
  CHECK_THAT(refusal_after([](GgufBytes& f) { f.add("k", "\xFF"); }), Contains("k is not UTF-8 at byte"));
  CHECK_THAT(
      refusal_after([](GgufBytes& f) { f.keys.push_back(gguf_text("k") + bytes_of(8) + bytes_of(uint64_t{1} << 40)); }),
      Contains("k takes 1099511627776 bytes"));
  CHECK_THAT(refusal_after([](GgufBytes& f) {
               f.keys.push_back(gguf_text("k") + bytes_of(9) + bytes_of(8) + bytes_of(~uint64_t{0}));
             }),
             Contains("strings; at most 4000000 are read"));
  CHECK_THAT(refusal_after([](GgufBytes& f) {
               f.keys.push_back(gguf_text("k") + bytes_of(9) + bytes_of(12) + bytes_of(~uint64_t{0} / 8));
             }),
             Contains("numbers is longer than the file"));
  CHECK_THAT(refusal_after([](GgufBytes& f) { f.add("general.alignment", 4, uint32_t{48}); }),
             Contains("a power of two"));
}

TEST_CASE("tensors of a GGUF file lie in the file, whole and apart", "[checkpoint]") {
  const auto after = [](uint32_t type, const std::vector<uint64_t>& dims, uint64_t offset) {
    return refusal_after([&](GgufBytes& f) { f.add_tensor_at("t", type, dims, offset); });
  };
  CHECK_THAT(after(0, {8}, 0),
             Contains("t: its bytes overlap another tensor's") || Contains("embd.weight: its bytes overlap"));
  CHECK_THAT(after(0, {8}, 8), Contains("t: offset = 8: must be a multiple of 32"));
  CHECK_THAT(after(0, {8}, 1 << 20), Contains("t: 32 bytes at 1048576 of the file's"));
  CHECK_THAT(after(0, {8}, ~uint64_t{0} - 31), Contains("of the file's"));
  CHECK_THAT(after(2, {16, 2}, 1 << 20), Contains("t: rows of 16 numbers are not whole blocks of 32"));
  CHECK_THAT(after(0, {uint64_t{1} << 50, uint64_t{1} << 50}, 0), Contains("more bytes than an address space"));
  CHECK_THAT(after(0, {}, 0), Contains("t: has 0 dimensions"));
  CHECK_THAT(after(0, {1, 1, 1, 1, 1}, 0), Contains("t: has 5 dimensions"));
  CHECK_THAT(after(0, {0}, 0), Contains("dimension 0 = 0"));
  CHECK_THAT(after(20, {256}, 0),
             Contains("t: its numbers are IQ4_NL, which is not read; quantise the model to one of F32"));
  CHECK_THAT(after(99, {256}, 0), Contains("of an unknown type, 99"));
  CHECK_THAT(refusal_after([](GgufBytes& f) { f.add_tensor("output_norm.weight", 0, {8}, std::string(32, '\0')); }),
             Contains("output_norm.weight: the tensor is there twice"));
}

TEST_CASE("blocks of every GGUF format become the package gguf's numbers to the bit", "[checkpoint]") {
  const std::string golden = ROLL_SOURCE_DIR "/tests/golden/checkpoint/gguf_blocks.json";
  const FileJson rows = read_file_json(golden);
  CHECK(rows.size() == 10);
  for (const FileJson& row : rows) {
    const gguf::NumberFormat& format = gguf::number_format(row["code"].get<uint32_t>(), "test");
    CAPTURE(format.name);
    CHECK(format.name == row["name"].get<std::string>());
    const std::string blocks = from_hex(row["blocks"]), wanted = from_hex(row["values"]);
    const auto count = static_cast<int64_t>(blocks.size()) / format.block_bytes;
    std::vector<float> values(static_cast<size_t>(count * format.block_size));
    format.dequantise(reinterpret_cast<const unsigned char*>(blocks.data()), count, values.data());
    CHECK(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)) == wanted);
  }
}

TEST_CASE("any change of a GGUF file's head is refused with a message or read, in little memory", "[checkpoint]") {
  const TemporaryFolder folder;
  const std::string sound = small_gguf().whole();
  const size_t head = small_gguf().head().size();
  const auto peak_mib = [] {
    rusage usage = {};
    ::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  const auto before = peak_mib();
  int refused = 0;
  for (uint32_t i = 0; i < 3000; ++i) {
    const auto draw = [&](uint32_t place, size_t below) {
      return static_cast<size_t>(
          random_uniform({.seed = 7, .purpose = Purpose::kInit, .step = i, .sequence = 0, .position = place}) *
          static_cast<double>(below));
    };
    std::string bytes = i % 10 == 0 ? sound.substr(0, draw(0, sound.size())) : sound;
    for (uint32_t k = 0; k <= i % 3 && !bytes.empty(); ++k)
      bytes[draw(2 * k + 1, std::min(head, bytes.size()))] = static_cast<char>(draw(2 * k + 2, 256));
    const auto path = folder.write("x.gguf", bytes);
    try {
      const gguf::File file(path);
      gguf::folder_tensors(file);
      gguf::model_config(file).dump();
      gguf::tokenizer_files(file);
    } catch (const UserError& error) {
      ++refused;
      CHECK_THAT(error.what(), Contains(path.string()));
    }
  }
  CHECK(refused > 1000);
  CHECK(peak_mib() - before < 1000);
}

}  // namespace roll
