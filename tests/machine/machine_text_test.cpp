#include <nlohmann/json.hpp>

#include "machine/machine.h"

using namespace roll;
using Catch::Contains;

namespace {

Machine small_machine() {
  return {.program = "0.1.0 (abc)",
          .system = "Linux",
          .libraries = {"LibTorch 2", "MPI none"},
          .processor = {.model = "Xeon", .features = {"avx2"}},
          .cores = {.online = 64, .allowed = 8, .quota = 2.5, .usable = 2, .threads = "2 threads"},
          .cpu_speed = {.float32 = 1e11, .bfloat16 = {}},
          .gpu_speed = {},
          .memory = {.total_bytes = int64_t{8} << 30, .available_bytes = int64_t{6} << 30, .limit_bytes = 1 << 30},
          .disks = {{.folder = "/here", .total_bytes = int64_t{2} << 30, .free_bytes = 1 << 30}},
          .cuda = {.driver = "none", .problem = {}, .devices = {}},
          .mpi = {},
          .sandbox_problem = {}};
}

Machine with_gpu() {
  Machine machine = small_machine();
  machine.cuda = {
      .driver = "for CUDA 13.0",
      .problem = {},
      .devices = {{.name = "H100", .capability = "9.0", .total_bytes = int64_t{80} << 30, .free_bytes = {}}}};
  machine.gpu_speed = {.float32 = 5e13, .bfloat16 = 7e14};
  return machine;
}

}  // namespace

TEST_CASE("what keeps cores and memory from a process is told with how many are left") {
  const std::string text = to_text(small_machine());
  CHECK_THAT(text, Contains("2 of 64 usable, 8 by affinity, a quota of 2.5\n"));
  CHECK_THAT(text, Contains("6.0 of 8.0 GiB free, control group limit 1.0 GiB\n"));
  CHECK_THAT(text, Contains("1.0 of 2.0 GiB free in /here\n"));
  CHECK_THAT(text, Contains("fp32 100 GFLOP/s, bf16 cannot be computed\n"));
}

TEST_CASE("what a run uses follows from what is here") {
  Machine machine = small_machine();
  CHECK_THAT(to_text(machine), Contains("the CPU\n") &&
                                   Contains("matrix products in fp32, which is no slower here\n") &&
                                   Contains("started by mpirun, collectives by MPI\n") && Contains("available\n"));
  machine.multiplies_bfloat16 = true;
  CHECK_THAT(to_text(machine), Contains("matrix products on this processor's bfloat16 units\n"));
  machine.mpi.problem = "mpirun: cannot be started";
  machine.sandbox_problem = "no namespaces";
  CHECK_THAT(to_text(machine), Contains("one; more ranks need mpirun") &&
                                   Contains("refused unless unsafe_no_sandbox") &&
                                   Contains("mpirun: cannot be started") && Contains("no namespaces"));
  CHECK_THAT(to_text(with_gpu()), Contains("1 GPU(s)\n") && Contains("collectives by NCCL\n") &&
                                      Contains("H100, capability 9.0, unknown of 80.0 GiB free\n") &&
                                      Contains("on cuda:0 fp32 50000 GFLOP/s, bf16 700000 GFLOP/s\n"));
}

TEST_CASE("the JSON has numbers where there are some, and null where there are none") {
  const Json json = to_json(small_machine());
  CHECK(json["cores"]["quota"] == 2.5);
  CHECK(json["products"]["float32_flops_per_s"] == 1e11);
  CHECK(json["products"]["bfloat16_flops_per_s"].is_null());
  CHECK(json["gpu"]["devices"].empty());
  CHECK(json["mpirun"]["problem"].is_null());
  CHECK(to_json(with_gpu())["gpu"]["devices"][0]["free_bytes"].is_null());
  Machine machine = small_machine();
  machine.mpi.problem = "gone";
  CHECK(to_json(machine)["mpirun"]["problem"] == "gone");
}

TEST_CASE("the line for a report is one line that says what matters") {
  const std::string line = to_json(with_gpu())["report"];
  CHECK(line.find('\n') == line.npos);
  for (const char* part :
       {"0.1.0 (abc)", "LibTorch 2, MPI none", "Linux", "Xeon, avx2", "2 of 64", "H100", "CUDA 13.0"})
    CHECK_THAT(line, Contains(part));
}
