#include "process/exported_object.h"

#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/temporary_folder.h"

namespace roll {

namespace {

/// A shared library that is on every machine.
std::string mathematics_library() {
  Dl_info info{};
  void* const library = dlopen("libm.so.6", RTLD_NOW);
  REQUIRE(dladdr(dlsym(library, "cos"), &info) != 0);
  return info.dli_fname;
}

/// Whether it is an answer or a UserError; anything else ends the test.
bool ends_well(const std::filesystem::path& file) {
  try {
    exported_object(file, "roll_loss_none", 4);
    return true;
  } catch (const UserError&) {
    return true;
  }
}

}  // namespace

TEST_CASE("a library's symbols are read without loading it", "[base]") {
  const std::string library = mathematics_library();
  CHECK(exported_object(library, "cos", 4)->size() == 4);
  CHECK_FALSE(exported_object(library, "no_such_function", 4));
  CHECK_FALSE(exported_object(library, "malloc", 4));  // which it imports
}

TEST_CASE("what is no library of this machine says so", "[base]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(exported_object(folder.write("text", "hello"), "f", 4), "is not a shared library");
  CHECK_THROWS_WITH(exported_object(folder.write("short", "\177ELF"), "f", 4), Catch::Contains("is damaged"));
  std::string other = read_file(mathematics_library());
  other[18] = '\x03';  // its machine
  CHECK_THROWS_WITH(exported_object(folder.write("other", other), "f", 4), Catch::Contains("for this machine"));
}

TEST_CASE("a damaged library is read within its bounds", "[base]") {
  const test::TemporaryFolder folder;
  const std::string whole = read_file(mathematics_library());
  std::mt19937_64 random(7);
  const auto below = [&](size_t limit) { return random() % limit; };
  for (int i = 0; i < 100; ++i) CHECK(ends_well(folder.write("cut", whole.substr(0, below(whole.size())))));
  for (int i = 0; i < 400; ++i) {
    std::string bytes = whole;
    const size_t headers = 64 * 30;  // of the sections, at the end; and the file's, at the beginning
    bytes[i % 2 ? below(64) : bytes.size() - 1 - below(headers)] ^= static_cast<char>(1 << below(8));
    CHECK(ends_well(folder.write("flipped", bytes)));
  }
}

}  // namespace roll
