#include "base/message.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "random_message.h"

namespace roll {
namespace {

enum class Colour : uint8_t { kRed, kGreen };
constexpr bool is_known(Colour colour) {
  return colour <= Colour::kGreen;
}

struct Inner {
  int32_t small = 0;
  std::string text;
  bool operator==(const Inner&) const = default;
  template <class F>
  void fields(F& field) {
    field("small", small), field("text", text);
  }
};

/// A field of every kind.
struct Everything {
  static constexpr MessageKind kMessage{"EVRY", 3, "everything"};
  bool flag = false;
  int8_t least = 0;
  uint64_t most = 0;
  float narrow = 0;
  double wide = 0;
  Colour colour = Colour::kRed;
  std::string text;
  std::optional<Inner> perhaps;
  std::vector<int64_t> numbers;
  std::vector<Inner> list;
  std::vector<std::vector<double>> lists;
  std::map<std::string, Colour> map;
  Json json;
  bool operator==(const Everything&) const = default;
  template <class F>
  void fields(F& field) {
    field("flag", flag), field("least", least), field("most", most), field("narrow", narrow), field("wide", wide);
    field("colour", colour), field("text", text), field("perhaps", perhaps), field("numbers", numbers);
    field("list", list), field("lists", lists), field("map", map), field("json", json);
  }
};

struct Numbers {
  static constexpr MessageKind kMessage{"NUMB", 1, "numbers"};
  std::vector<int32_t> numbers;
  template <class F>
  void fields(F& field) {
    field("numbers", numbers);
  }
};

struct Texts {
  static constexpr MessageKind kMessage{"TEXT", 1, "texts"};
  std::vector<Inner> texts;
  template <class F>
  void fields(F& field) {
    field("texts", texts);
  }
};

struct Table {
  static constexpr MessageKind kMessage{"TABL", 1, "a table"};
  std::map<int8_t, bool> rows;
  template <class F>
  void fields(F& field) {
    field("rows", rows);
  }
};

/// With another version, and what another build may have made of it.
struct NewerNumbers : Numbers {
  static constexpr MessageKind kMessage{"NUMB", 2, "numbers"};
};

Everything example() {
  return {.flag = true,
          .least = -128,
          .most = UINT64_MAX,
          .narrow = -0.0F,
          .wide = 0.1,
          .colour = Colour::kGreen,
          .text = std::string("a\0b", 3),
          .perhaps = Inner{7, "seven"},
          .numbers = {INT64_MIN, 0, INT64_MAX},
          .list = {{1, ""}, {2, "two"}},
          .lists = {{}, {1, 2}},
          .map = {{"", Colour::kRed}, {"sky", Colour::kGreen}},
          .json = {{"k", {1, nullptr}}}};
}

template <class M>
std::string refusal(const std::string& bytes, const Sender& sender = {}) {
  try {
    decode_message<M>(bytes, sender);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

/// What comes of bytes that may be anything: a message that is written as they are, or a refusal of the two kinds.
template <class M>
bool is_read_or_refused(const std::string& bytes) {
  M message;
  try {
    message = decode_message<M>(bytes);
  } catch (const UserError&) {
    return true;
  } catch (const SystemError&) {
    return true;
  }
  const std::string again = encode_message(message);
  return encode_message(decode_message<M>(again)) == again;
}

}  // namespace

TEST_CASE("a message comes back as it was, empty and full", "[base]") {
  CHECK(decode_message<Everything>(encode_message(Everything{})) == Everything{});
  CHECK(decode_message<Everything>(encode_message(example())) == example());
}

TEST_CASE("a message's bytes are the same on every machine", "[base]") {
  CHECK(encode_message(Numbers{{1, -2}}) == std::string("NUMB\1\0\0\0"
                                                        "\2\0\0\0"
                                                        "\1\0\0\0"
                                                        "\xFE\xFF\xFF\xFF",
                                                        20));
  CHECK(encode_message(Texts{{{3, "ab"}}}) == std::string("TEXT\1\0\0\0"
                                                          "\1\0\0\0"
                                                          "\3\0\0\0"
                                                          "\2\0\0\0"
                                                          "ab",
                                                          22));
  CHECK(encode_message(Table{{{-1, true}, {2, false}}}) == std::string("TABL\1\0\0\0"
                                                                       "\2\0\0\0"
                                                                       "\xFF\1"
                                                                       "\2\0",
                                                                       16));
  CHECK(std::ssize(encode_message(Numbers{})) == 12);
  CHECK(std::ssize(encode_message(Texts{{{3, "ab"}}})) == 22);
}

TEST_CASE("floating-point numbers keep their bits", "[base]") {
  for (const uint64_t bits : {0x7ff8000000000123ULL, 0xfff0000000000001ULL, 0x8000000000000000ULL, 1ULL}) {
    Everything message;
    message.wide = std::bit_cast<double>(bits);
    CHECK(std::bit_cast<uint64_t>(decode_message<Everything>(encode_message(message)).wide) == bits);
  }
  Everything message;
  message.narrow = std::bit_cast<float>(0xffc00123U);
  CHECK(std::bit_cast<uint32_t>(decode_message<Everything>(encode_message(message)).narrow) == 0xffc00123U);
}

TEST_CASE("any message is read as it was written", "[base]") {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Everything message;
    test::RandomFields(seed).fill(message);
    const std::string bytes = encode_message(message);
    if (encode_message(decode_message<Everything>(bytes)) != bytes) FAIL_CHECK("it changed");
  }
}

TEST_CASE("bytes that end anywhere before the end are refused", "[base]") {
  const std::string bytes = encode_message(example());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK_THROWS_AS(decode_message<Everything>(std::string_view(bytes).substr(0, size)), SystemError);
  }
  CHECK_THAT(refusal<Everything>(bytes + "x"),
             Catch::Contains(
                 fmt::format("the end at byte {} of {} is followed by more bytes", bytes.size(), bytes.size() + 1)));
}

TEST_CASE("bytes that were changed anywhere are refused or are another message", "[base]") {
  const std::string bytes = encode_message(example());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (const char change : {'\x01', '\x7F', '\xFF'}) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ change);
      CAPTURE(at, change);
      CHECK(is_read_or_refused<Everything>(changed));
    }
}

TEST_CASE("a message of another type or version is a user's error that names who sent it", "[base]") {
  const std::string numbers = encode_message(Numbers{{1}});
  CHECK_THROWS_AS(decode_message<Texts>(numbers), UserError);
  CHECK(refusal<Texts>(numbers, {3}) ==
        "texts from rank 3: begins with 'NUMB', not with 'TEXT': all ranks of a job must run the same build of roll; "
        "start every rank with the same build");
  CHECK_THROWS_AS(decode_message<Numbers>(encode_message(NewerNumbers{})), UserError);
  CHECK(refusal<Numbers>(encode_message(NewerNumbers{}), {1, "dp"}) ==
        "numbers from rank 1 of 'dp': has version 2, but this rank reads version 1: all ranks of a job must run the "
        "same build of roll; start every rank with the same build");
}

TEST_CASE("a length beyond the end is refused before anything is allocated", "[base]") {
  std::string bytes = encode_message(Numbers{{1, 2}});
  bytes.replace(8, 4, "\xFF\xFF\xFF\xFF");
  CHECK(refusal<Numbers>(bytes, {2}) ==
        "numbers from rank 2: numbers at byte 12 of 20 has 4294967295 entries of at least 4 bytes: the message was "
        "damaged on "
        "its way, or comes from another build; all ranks of a job must run the same build of roll");
  bytes.replace(8, 4, std::string("\3\0\0\0", 4));
  CHECK_THAT(refusal<Numbers>(bytes), Catch::Contains("has 3 entries of at least 4 bytes"));
  bytes = encode_message(Texts{{{1, "a"}, {2, "b"}}});
  bytes.replace(8, 4, std::string("\4\0\0\0", 4));
  CHECK_THAT(refusal<Texts>(bytes), Catch::Contains("texts at byte 12 of 30 has 4 entries of at least 8 bytes"));
  bytes.replace(8, 4, std::string("\2\0\0\0", 4));
  bytes.replace(25, 4, std::string("\2\0\0\0", 4));
  CHECK_THAT(refusal<Texts>(bytes),
             Catch::Contains("texts[1].text at byte 29 of 30 has 2 entries of at least 1 bytes"));
  bytes = encode_message(Table{{{1, true}}});
  bytes.replace(8, 4, std::string("\2\0\0\0", 4));
  CHECK_THAT(refusal<Table>(bytes), Catch::Contains("rows at byte 12 of 14 has 2 entries of at least 2 bytes"));
}

TEST_CASE("what a type cannot be is refused", "[base]") {
  const std::string bytes = encode_message(Table{{{1, true}, {2, false}}});
  const auto with = [&](size_t at, char byte) {
    std::string changed = bytes;
    changed[at] = byte;
    return refusal<Table>(changed);
  };
  CHECK_THAT(with(13, 2), Catch::Contains("rows at byte 14 of 16 is 2, not 0 or 1"));
  CHECK_THAT(with(14, 1), Catch::Contains("rows at byte 15 of 16 has keys out of order"));
  CHECK_THAT(with(14, 0), Catch::Contains("has keys out of order"));
  Everything message;
  message.colour = static_cast<Colour>(2);
  CHECK_THAT(refusal<Everything>(encode_message(message)),
             Catch::Contains("colour at byte 31 of") && Catch::Contains("is 2, which is no known value"));
  std::string json = encode_message(Everything{});
  json.replace(json.size() - 4, 4, "nulx");
  CHECK_THAT(refusal<Everything>(json), Catch::Contains("json at byte") && Catch::Contains("is not JSON"));
}

}  // namespace roll
