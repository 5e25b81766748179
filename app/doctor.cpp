// roll doctor: shows the machine's hardware and software, the part that a run uses, and a line for bug reports.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/streams.h"
#include "app/commands.h"
#include "app/version.h"
#include "machine/machine.h"

namespace roll {

namespace {

constexpr const char* kRankFlag = "--as-rank";  // hidden: marks the two ranks of the mpirun test

struct DoctorFlags {
  bool json = false, as_rank = false;
};

void examine(const DoctorFlags& flags) {
  if (flags.as_rank) return run_trial_rank();
  const Machine machine = examine_machine(version_with_commit(), {"doctor", kRankFlag});
  if (flags.json)
    print_data(to_line(to_json(machine)) + "\n");
  else
    std::fputs(to_text(machine).c_str(), stdout);
}

}  // namespace

void add_doctor(CLI::App& app) {
  auto* sub = app.add_subcommand(
      "doctor", "this machine's hardware and software, the defaults of a run on it, and a line for bug reports");
  auto flags = std::make_shared<DoctorFlags>();
  sub->add_flag("--json", flags->json, "one JSON object");
  sub->add_flag(kRankFlag, flags->as_rank)->group("");
  sub->callback([flags] { examine(*flags); });
}

}  // namespace roll
