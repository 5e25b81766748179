// Notices as Open MPI 4.1.4 writes them.
#include "job/mpirun_output.h"

using namespace roll;

namespace {

const std::string kDashes = "--------------------------------------------------------------------------\n";
const std::string kPrimary = kDashes +
                             "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per "
                             "user-direction, the job has been aborted.\n" +
                             kDashes;
const std::string kKilled =
    kDashes + "mpirun noticed that process rank 3 with PID 7187 on node h2 exited on signal 9 (Killed).\n" + kDashes;
const std::string kAbort = kDashes +
                           "MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 2.\n\nNOTE: "
                           "invoking MPI_ABORT causes\n" +
                           kDashes;
const std::string kLost = kDashes +
                          "ORTE has lost communication with a remote daemon.\n\n  HNP daemon   : [[1,0],0] on node h1\n"
                          "  Remote daemon: [[1,0],1] on node h2\n\nThis is usually due to\n" +
                          kDashes;

}  // namespace

TEST_CASE("of mpirun's notices only those that say something new are shown") {
  MpirunOutput output;
  CHECK(output.take("roll: [rank 1] rows.jsonl:3: bad row\n" + kAbort + kPrimary + kKilled) ==
        "roll: [rank 1] rows.jsonl:3: bad row\n");
  CHECK(output.take("[h1:12] 1 more process has sent help message help-mpi-api.txt / mpi-abort\n") == "");
  CHECK(output.take("[h1:12] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help / error messages\n") ==
        "");
  CHECK(output.take("[warn] Epoll MOD(1) on fd 24 failed. Old events were 6; Bad file descriptor\n") == "");
  CHECK(output.take("[h1:12] a rank's own line\n") == "[h1:12] a rank's own line\n");
  CHECK(output.take(kLost) == kLost);
  CHECK(output.take("no end") == "");
  CHECK(output.rest() == "no end\n");
  CHECK(output.rest() == "");
}

TEST_CASE("a notice says which rank was killed, in whatever pieces it comes") {
  MpirunOutput output;
  std::string shown;
  for (const char c : kPrimary + kKilled + "after\n") shown += output.take({&c, 1});
  CHECK(shown == "after\n");
  REQUIRE(output.killed());
  CHECK(output.killed()->rank == 3);
  CHECK(output.killed()->host == "h2");
  CHECK(output.killed()->signal == 9);
  CHECK_FALSE(output.failed());
}

TEST_CASE("ranks that wait in vain are shown once, and those that did not say so are missing") {
  MpirunOutput output;
  CHECK(output.missing().empty());
  const std::string first = waited_line(2, 4, "start: waited 3.0 s");
  CHECK(first == "roll: rank 2 of 4, start: waited 3.0 s and not all other ranks came (the limit is backend_timeout)");
  CHECK(output.take(first + "\n") == first + "\n");
  CHECK(output.take(waited_line(0, 4, "start: waited 3.0 s") + "\n" + kPrimary).empty());
  CHECK(output.missing() == "1, 3");
  CHECK(output.failed());
}

TEST_CASE("a sentence that Open MPI 5 breaks is understood too") {
  MpirunOutput output;
  CHECK(output.take(
            kDashes +
            "prterun noticed that process rank 0 with PID 5 on node n1 exited on\nsignal 11 (Segmentation fault).\n" +
            kDashes) == "");
  REQUIRE(output.killed());
  CHECK(output.killed()->signal == 11);
}

TEST_CASE("what a rank says itself outside of a notice accuses nobody") {
  MpirunOutput output;
  output.take("process rank 3 with PID 7187 on node h2 exited on signal 9\nwith errorcode 2.\n");
  CHECK_FALSE(output.killed());
  CHECK_FALSE(output.failed());
}

TEST_CASE("a rank that is killed because another one called MPI_Abort is not to blame") {
  MpirunOutput output;
  output.take(kAbort + kKilled);
  CHECK_FALSE(output.killed());
  CHECK(output.failed());
}

TEST_CASE("a lost host is named; failures and the start are heard, the start is not shown") {
  MpirunOutput output;
  output.take(kLost);
  CHECK(output.lost_host() == "h2");
  CHECK_FALSE(output.started());
  CHECK(output.take("roll: all ranks are there\n") == "");
  CHECK(output.started());
  CHECK_FALSE(output.failed());
  CHECK(output.take("roll: stopped by SIGTERM\n") == "roll: stopped by SIGTERM\n");
  CHECK(output.failed());
}

TEST_CASE("our own line is shown even where it comes between those of a notice") {
  MpirunOutput output;
  CHECK(output.take(kDashes + "MPI_ABORT was invoked on rank 1\nroll: bad row\n" + kDashes) == "roll: bad row\n");
}

TEST_CASE("the start is heard behind a line that another rank has begun, and that line goes on") {
  MpirunOutput output;
  CHECK(output.take("[h1:12] Failing at address: 0x2b11\n[h1:12] roll: all ranks are there\n") ==
        "[h1:12] Failing at address: 0x2b11\n");
  CHECK(output.started());
  CHECK(output.take("[ 0] libc.so.6\n") == "[h1:12] [ 0] libc.so.6\n");
  const std::string waited = "[h1:12] " + waited_line(1, 2, "end: waited 3.0 s") + "\n";
  CHECK(output.take(waited) == waited);
  CHECK(output.missing() == "0");
}
