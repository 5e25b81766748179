#define CATCH_CONFIG_RUNNER
#include <unistd.h>

#include <catch2/catch.hpp>

#include "device/cuda_library.h"

int main(int argc, char** argv) {
  // Tests name their files from the source folder. Where that is not, on another machine, they begin in a copy of it.
  [[maybe_unused]] const int result = ::chdir(ROLL_TESTS_HOME);
  roll::load_cuda_library();
  return Catch::Session().run(argc, argv);
}
