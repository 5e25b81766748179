#include "machine/processor.h"

#include "checkpoint/temporary_folder.h"

using namespace roll;

TEST_CASE("of a processor's flags those are named that kernels choose by, from its first core") {
  const test::TemporaryFolder folder;
  const auto file = folder.write("cpuinfo",
                                 "processor\t: 0\nmodel name\t: Intel(R) Xeon(R): 4\nflags\t\t: fpu amx_bf16 avx2 avx "
                                 "fma\n\nprocessor\t: 1\nmodel name\t: another\nflags\t\t: avx512f\n");
  const Processor processor = read_processor(file);
  CHECK(processor.model == "Intel(R) Xeon(R): 4");
  CHECK(processor.features == std::vector<std::string>{"avx2", "fma", "amx_bf16"});
  CHECK(has_bf16_products(processor));
  CHECK_FALSE(has_bf16_products({.model = "", .features = {"avx2", "avx512f", "amx_tile"}}));
}

TEST_CASE("an ARM processor has features and no name, and one that nobody describes has neither") {
  const test::TemporaryFolder folder;
  const Processor arm = read_processor(folder.write("cpuinfo", "processor\t: 0\nFeatures\t: fp asimd bf16\n"));
  CHECK(arm.model == "unknown");
  CHECK(arm.features == std::vector<std::string>{"asimd", "bf16"});
  CHECK(read_processor(folder / "missing").features.empty());
}
