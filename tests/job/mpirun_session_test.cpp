#include "job/mpirun_session.h"

#include <catch2/catch.hpp>

#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "transport/socket.h"

using namespace roll;

TEST_CASE("of a killed mpirun's things all go, of others' none", "[dist]") {
  const test::TemporaryFolder folder;
  const SessionFolders folders{folder / "sessions", folder / "segments"};
  const auto segment = [](const std::string& job, int rank) {
    return fmt::format("segments/vader_segment.{}.0.{}.{}", host_name(), job, rank);
  };
  for (const char* path : {"sessions/pid.7/1/0", "sessions/pid.8", "segments"}) make_folder(folder / path);
  folder.write("sessions/pid.7/contact.txt", "357957632.0;tcp://192.0.2.2:33051\n7\n");  // 0x15560000
  folder.write("sessions/pid.7/1/0/x", "");
  folder.write("sessions/pid.8/contact.txt", "389873664.0;tcp://192.0.2.2:59737\n8\n");  // 0x173d0000
  for (const char* job : {"15560001", "15560002", "173d0001", "5560001", "x"})
    for (const int rank : {0, 11}) folder.write(segment(job, rank), "");
  folder.write("segments/other.15560001.0", "");
  remove_session(folders, 7);
  CHECK_FALSE(is_there(folders.sessions / "pid.7"));
  CHECK(is_there(folders.sessions / "pid.8/contact.txt"));
  CHECK(list_folder(folders.segments).size() == 7);
  CHECK_FALSE(is_there(folder / segment("15560001", 11)));
  folder.write("sessions/pid.8/contact.txt", "what is this");
  remove_session(folders, 8);
  remove_session(folders, 9);
  CHECK(list_folder(folders.segments).size() == 7);
}

TEST_CASE("an mpirun has its own session folder, unless the user names one", "[dist]") {
  std::vector<std::string> command = {"mpirun", "-n", "2", "roll"};
  CHECK(place_session(command, "/tmp/x"));
  CHECK(command == std::vector<std::string>{"mpirun", "--mca", "orte_tmpdir_base", "/tmp/x", "-n", "2", "roll"});
  const std::vector<std::string> placed = command;
  CHECK_FALSE(place_session(command, "/tmp/y"));  // mpirun refuses an option that is given twice
  CHECK(command == placed);
}
