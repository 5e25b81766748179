#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/env.h"
#include "job/launch.h"
#include "job/world.h"

using namespace roll;

namespace {

/// The variables that launchers set are gone but for the given ones, until the end of the scope.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& wanted) {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                             "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_RANK", "PMI_SIZE", "PMIX_RANK", "RANK", "WORLD_SIZE",
                             "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "SLURM_STEP_ID",
                             "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES", "SLURM_LOCALID"}) {
      if (const auto value = env(name)) before_[name] = *value;
      ::unsetenv(name);
      names_.emplace_back(name);
    }
    for (const auto& [name, value] : wanted) set_env(name, value);
  }
  ~Variables() {
    for (const std::string& name : names_) ::unsetenv(name.c_str());
    for (const auto& [name, value] : before_) set_env(name, value);
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string> before_;
};

}  // namespace

TEST_CASE("a process without a launcher is alone", "[dist]") {
  const Variables environment({});
  CHECK(detect_world().launcher == Launcher::kNone);
  CHECK(detect_world().size == 1);
}

TEST_CASE("mpirun's variables tell rank, size and place on the host", "[dist]") {
  const Variables environment({{"OMPI_COMM_WORLD_RANK", "5"},
                               {"OMPI_COMM_WORLD_SIZE", "8"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                               {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
  const World world = detect_world();
  CHECK(world.launcher == Launcher::kMpi);
  CHECK(world.rank == 5);
  CHECK(world.size == 8);
  CHECK(world.local_rank == 1);
  CHECK(world.local_size == 4);
}

TEST_CASE("torchrun's variables need all four, and sizes that fit", "[dist]") {
  const std::map<std::string, std::string> good = {{"RANK", "3"},         {"WORLD_SIZE", "4"},
                                                   {"LOCAL_RANK", "1"},   {"LOCAL_WORLD_SIZE", "2"},
                                                   {"MASTER_ADDR", "h1"}, {"MASTER_PORT", "29500"}};
  {
    const Variables environment(good);
    const World world = detect_world();
    CHECK(world.launcher == Launcher::kVariables);
    CHECK(world.rank == 3);
    CHECK(world.local_rank == 1);
    CHECK(world.local_size == 2);
    CHECK(world.master_address == "h1");
    CHECK(world.master_port == 29500);
  }
  const auto with = [&](const std::string& name, const std::string& value) {
    auto changed = good;
    value.empty() ? void(changed.erase(name)) : void(changed.insert_or_assign(name, value));
    const Variables environment(changed);
    return detect_world();
  };
  CHECK_THROWS_WITH(with("MASTER_ADDR", ""), Catch::Contains("MASTER_ADDR is not; set it"));
  CHECK_THROWS_WITH(with("MASTER_PORT", ""), Catch::Contains("MASTER_PORT is not; set it"));
  CHECK_THROWS_WITH(with("MASTER_PORT", "70000"), Catch::Contains("MASTER_PORT = 70000: must be 1 to 65535"));
  CHECK_THROWS_WITH(with("RANK", "4"), Catch::Contains("RANK = 4 with WORLD_SIZE = 4: a rank must be below"));
  CHECK_THROWS_WITH(with("RANK", "-1"), Catch::Contains("RANK = -1: must be a whole number"));
  CHECK_THROWS_WITH(with("WORLD_SIZE", "two"), Catch::Contains("WORLD_SIZE = two: must be a whole number"));
  CHECK(with("WORLD_SIZE", "1").launcher == Launcher::kNone);
}

TEST_CASE("an srun step whose tasks cannot find each other is refused, not run as many single jobs", "[dist]") {
  std::map<std::string, std::string> step = {{"SLURM_STEP_ID", "0"},
                                             {"SLURM_PROCID", "3"},
                                             {"SLURM_STEP_NUM_TASKS", "8"},
                                             {"SLURM_STEP_NUM_NODES", "2"},
                                             {"SLURM_LOCALID", "3"}};
  {
    const Variables environment(step);
    CHECK_THROWS_WITH(detect_world(), Catch::Contains("srun started 8 tasks") && Catch::Contains("--mpi=pmix"));
  }
  step.emplace("PMIX_RANK", "3");
  {
    const Variables environment(step);
    CHECK(detect_world().launcher == Launcher::kMpi);
    CHECK(detect_world().local_size == 4);
  }
  step.erase("PMIX_RANK");
  step.emplace("MASTER_ADDR", "h1");
  step.emplace("MASTER_PORT", "29500");
  const Variables environment(step);
  CHECK(detect_world().launcher == Launcher::kVariables);
  CHECK(detect_world().rank == 3);
  CHECK(detect_world().local_rank == 3);
}

TEST_CASE("mpirun is told what root, containers and shared cores need", "[dist]") {
  const auto command =
      launch_command({.num_ranks = 4, .program = "/bin/roll", .args = {"train", "--config", "a b.yaml"}});
  const auto has = [&](const std::string& word) {
    return std::find(command.begin(), command.end(), word) != command.end();
  };
  CHECK(command[0] == "mpirun");
  CHECK(command[2] == "4");
  CHECK(has("--oversubscribe"));
  CHECK(has("none"));
  CHECK(has("--allow-run-as-root") == (::geteuid() == 0));
  CHECK_FALSE(has("--hostfile"));
  CHECK((command.end()[-4] == "/bin/roll" && command.end()[-1] == "a b.yaml"));
}

TEST_CASE("several hosts are filled in order, get the variables that ranks need, and more arguments for mpirun",
          "[dist]") {
  const Variables environment({});
  set_env("NCCL_SOCKET_IFNAME", "eth0");
  set_env("ROLL_STANDING_BY", "1");
  set_env("GOMP_SPINCOUNT", GENERATE("3000", "77"));
  const bool is_default = env("GOMP_SPINCOUNT") == "3000";
  const Launch launch{.num_ranks = 16,
                      .hostfile = "my hosts",
                      .mpirun_args = {"--mca", "a", "b"},
                      .program = "/bin/roll",
                      .args = {"sft"}};
  const std::string line = fmt::format("{}", fmt::join(launch_command(launch), " "));
  ::unsetenv("NCCL_SOCKET_IFNAME");
  ::unsetenv("ROLL_STANDING_BY");
  ::unsetenv("GOMP_SPINCOUNT");
  CHECK((line.find(" -x GOMP_SPINCOUNT ") == std::string::npos) == is_default);  // only the user's own
  CHECK_THAT(line, Catch::StartsWith("mpirun -n 16 ") && Catch::EndsWith(" --mca a b /bin/roll sft"));
  CHECK_THAT(line,
             Catch::Contains(" --hostfile my hosts --map-by slot ") && Catch::Contains(" -x NCCL_SOCKET_IFNAME "));
  CHECK_THAT(line,
             !Catch::Contains("--oversubscribe") && !Catch::Contains("OMPI_") && !Catch::Contains("ROLL_STANDING_BY"));
  CHECK_THAT(line, !Catch::Contains("OMP_NUM_THREADS="));  // each host has cores of its own
}

TEST_CASE("one rank needs no mpirun, unless it is for another host", "[dist]") {
  CHECK(launch_command({.program = "/bin/roll", .args = {"train"}}) == std::vector<std::string>{"/bin/roll", "train"});
  CHECK(launch_command({.hostfile = "hosts", .program = "/bin/roll"})[0] == "mpirun");
}
