#include "job/hosts.h"

#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

using namespace roll;

namespace {

std::vector<Host> hosts_of(const std::string& text) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("roll_test_hosts_{}", ::getpid());
  write_file_atomic(file, text);
  const auto hosts = read_hostfile(file);
  std::filesystem::remove(file);
  return hosts;
}

}  // namespace

TEST_CASE("a hostfile is read in Open MPI's format") {
  const auto hosts =
      hosts_of("# a cluster\n\nnode1 slots=8\n  me@node2\tslots=4 max_slots=8 # half\n10.0.0.3 max-slots=2 slots=2");
  REQUIRE(hosts.size() == 3);
  CHECK((hosts[0].name == "node1" && hosts[0].slots == 8));
  CHECK((hosts[1].name == "me@node2" && hosts[1].slots == 4));
  CHECK((hosts[2].name == "10.0.0.3" && hosts[2].slots == 2));
  CHECK(num_slots(hosts) == 14);
}

TEST_CASE("errors of a hostfile name file and line") {
  using Catch::Matchers::Matches;
  CHECK_THROWS_WITH(read_hostfile("/no/such/hosts"), Catch::Contains("/no/such/hosts"));
  CHECK_THROWS_WITH(hosts_of("# none\n"), Matches(".*roll_test_hosts_[0-9]+: names no host; write a line for each.*"));
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"a slots=1\n\na slots=2\n", ":3: a: line 1 already names this host; give all its slots there"},
           {"a\n", ":1: a: slots=N is missing: how many ranks this host takes"},
           {"a slots=0\n", ":1: slots = 0: must be a whole number from 1 to 65536"},
           {"a slots=-1\n", ":1: slots = -1: must be"},
           {"a slots=two\n", ":1: slots = two: must be"},
           {"a slots=65537\n", ":1: slots = 65537: must be"},
           {"a slots=\n", ":1: slots = : must be"},
           {"a slots = 4\n", ":1: slots = : must be"},
           {"a slts=4\n",
            ":1: slts: unknown word; a line is a host's name, slots=N and perhaps max_slots=N; did you mean 'slots'?"},
           {"-oProxyCommand=x slots=1\n", ":1: -oProxyCommand=x: a line begins with the name of a host"},
           {"-x slots=1\n", ":1: \"-x\": not the name or address of a host; write e.g. \"node1 slots=8\""},
           {"a;b slots=1\n", ":1: \"a;b\": not the name or address of a host"},
           {"a slots=1\nb\x1b[31m slots=1\n", ":2:2: byte 0x1b is a control character"},
           {"a slots=65536\nb slots=1\n", ": 65537 slots in all; at most 65536 are supported"},
           {"slots=4 a\n", ":1: slots=4: a line begins with the name of a host"},
           {"ok slots=1\na slots=4 max_slots=2\n", ":2: slots = 4: must be at most max_slots = 2"}})
    CHECK_THROWS_WITH(hosts_of(text), Catch::Contains(message));
}
