#include "sandbox/boxed_program.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/temporary_folder.h"
#include "sandbox/box.h"
#include "sandbox/box_entry.h"
#include "sandbox/box_keeper.h"

namespace roll {
namespace {

namespace fs = std::filesystem;

constexpr double kLongest_s = 30;

bool is_skipped() {
  static const auto why = why_not_isolated("python3");
  if (why) WARN("not tried: " << *why);
  return why.has_value();
}

/// The line that it answers with, or how it ended.
std::string answer_of(const std::vector<std::string>& command, int64_t memory_mb = 1024) {
  ChildProcess child(start_boxed({command, memory_mb}));
  std::string reply;
  if (child.ask("question", kLongest_s, reply) == ChildProcess::Outcome::kDone) return reply;
  return child.end(kLongest_s) + "; " + child.stderr_tail();
}
std::string shell(const std::string& script) {
  return answer_of({"sh", "-c", script});
}
std::string python(const std::string& script, int64_t memory_mb = 1024) {
  const std::string worked =
      "def works(f):\n try: return f() not in (None, -1)\n except (Exception, SystemExit): return False\n"
      "import ctypes, os, resource, socket, subprocess, sys, time\n"
      "if os.path.exists('/proc/self'): sys.exit('this is no sandbox')\n"  // where what is tried would harm
      "libc = ctypes.CDLL(None)\ninput()\n";
  return answer_of({"python3", "-c", worked + script}, memory_mb);
}

/// Processes of the machine with this word in their command line.
int num_running(const std::string& word) {
  int num = 0;
  for (const fs::path& folder : list_folder("/proc")) {
    std::ifstream file(folder / "cmdline");
    std::string line;
    std::getline(file, line);  // fails quietly if the process ends meanwhile
    num += line.find(word) != std::string::npos ? 1 : 0;
  }
  return num;
}

bool comes(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

class InFolder {
 public:
  explicit InFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~InFolder() { fs::current_path(before_); }

 private:
  fs::path before_;
};

}  // namespace

TEST_CASE("a command names files and folders, and a program what it is installed with") {
  const test::TemporaryFolder folder;
  const fs::path root = fs::canonical(folder.path());
  for (const char* made : {"game", "venv/bin", "venv/lib", "home/bin", "home/secrets", "tools"})
    fs::create_directories(root / made);
  for (const char* file : {"game.py", "venv/pyvenv.cfg", "home/bin/real", "tools/alone"})
    std::ofstream(root / file) << 1;
  for (const char* program : {"home/bin/real", "tools/alone"}) fs::permissions(root / program, fs::perms(0755));
  fs::create_symlink("../../home/bin/real", root / "venv/bin/python");
  const InFolder here(root);
  using Paths = std::vector<fs::path>;
  CHECK(find_named_paths({(root / "venv/bin/python").string(), "game.py"}) ==
        Paths{root / "venv/bin", root / "venv/lib", root / "venv/pyvenv.cfg", root / "home/bin", root / "game.py"});
  CHECK(find_named_paths({(root / "tools/alone").string(), "-m", "game", "./game/", "none.py", "--file=game.py", ""}) ==
        Paths{root / "tools/alone", root / "game", root / "game"});
  CHECK(find_named_paths({".", "/", "/tmp", "/dev", "/proc/self", "/sys/kernel", std::string(5000, 'x')}) ==
        Paths{root});
}

TEST_CASE("a program in a box answers lines where it was started, and sees what its command names and nothing else") {
  if (is_skipped()) return;
  const test::TemporaryFolder folder;
  for (const char* name : {"game", "hidden"}) fs::create_directories(folder / name);
  fs::permissions(folder.path(), fs::perms(0755));
  for (const char* name : {"shown", "secret", "game/part", "hidden/part"}) std::ofstream(folder / name) << name << ".";
  const InFolder here(folder.path());
  CHECK(answer_of({"sh", "-c", "read q; echo $q: $(cat \"$1\" \"$2/part\") in $(pwd), $(ls | tr '\\n' ' ')", "sh",
                   "shown", "game"}) ==
        "question: shown.game/part. in " + fs::current_path().string() + ", game shown");
  CHECK(shell("read q; cat secret hidden/part " + (folder / "secret").string() + " 2>/dev/null; echo end") == "end");
  CHECK(shell("read q; cat /etc/passwd /etc/hostname /proc/1/environ 2>/dev/null; echo end") == "end");
  const std::string top = shell("read q; echo \" $(ls / | tr '\\n' ' ') \"; read q");
  for (const char* name : {" home ", " old ", " sys ", " var "}) CHECK(top.find(name) == std::string::npos);
  CHECK(shell("read q; echo $(ls /dev) $(ls -A /proc) $(ls -A /dev/shm)") == "null random shm urandom zero");
  // Read-only, without set-user-ID and devices.
  CHECK(python("print([os.statvfs(path).f_flag & 7 for path in ('/', '/usr/bin', '/tmp', '/etc')])") == "[7, 7, 6, 7]");
}

TEST_CASE("a program in a box has none of our environment's variables and descriptors") {
  if (is_skipped()) return;
  setenv("ROLL_JOB_SECRET", "only we know", 1);
  std::vector<Descriptor> leaked(300);  // as other libraries open files
  for (Descriptor& file : leaked) file = Descriptor(open("/etc/passwd", O_RDONLY));
  CHECK(shell("read q; env | cut -d= -f1 | sort | tr '\\n' ' '; echo") ==
        "HOME LANG OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH PWD TMPDIR ");
  CHECK(python("print([n for n in range(3, 200) if works(lambda: os.fstat(n))])") == "[]");
  unsetenv("ROLL_JOB_SECRET");
}

TEST_CASE("a program in a box writes to its own /tmp alone, and not more than it holds") {
  if (is_skipped()) return;
  const test::TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms(0777));
  std::ofstream(folder / "file") << 1;
  fs::permissions(folder / "file", fs::perms(0777));
  const std::string at = folder.path().string();
  CHECK(answer_of({"sh", "-c",
                   "read q; for f in file new; do echo 2 > \"$1/$f\"; done 2>/dev/null; cd /; echo 2 > x; echo 3 > "
                   "/tmp/roll_box_x; cat /tmp/roll_box_x",
                   "sh", at}) == "3");
  CHECK(read_file(folder / "file") == "1");
  CHECK(!is_there(folder / "new"));
  CHECK(!is_there("/tmp/roll_box_x"));
  CHECK(python("n = 0\ntry:\n while True: open(f'/tmp/{n}', 'wb').write(bytes(1 << 20)); n += 1\n"
               "except OSError as error: print(50 < n < 65, error.strerror)") == "True No space left on device");
}

TEST_CASE("a Python that a script stands in for is the one in the box") {
  if (is_skipped()) return;
  const test::TemporaryFolder folder;
  std::ofstream(folder / "chosen") << "true";
  std::ofstream(folder / "python3") << "#!/bin/sh\n. " << (folder / "chosen").string()
                                    << "\nPATH=${PATH#*:}\nexec python3 \"$@\"\n";
  fs::permissions(folder / "python3", fs::perms(0755));
  setenv("PATH", (folder.path().string() + ":" + getenv("PATH")).c_str(), 1);
  CHECK(python("print(1 + 1)") == "2");
  setenv("PATH", std::string(getenv("PATH")).substr(folder.path().string().size() + 1).c_str(), 1);
}

TEST_CASE("a program in a box has no network, no rights, and no way to more of them") {
  if (is_skipped()) return;
  CHECK(python("print([f for f in (2, 10, 16, 17) if works(lambda: socket.socket(f))])") == "[]");
  const Descriptor abstract(socket(AF_UNIX, SOCK_STREAM, 0));  // the network's, without a file
  const std::string name = fmt::format("roll-test-{}", getpid());
  sockaddr_un address{.sun_family = AF_UNIX};
  name.copy(address.sun_path + 1, name.size());
  REQUIRE(bind(abstract.get(), reinterpret_cast<sockaddr*>(&address),
               offsetof(sockaddr_un, sun_path) + 1 + name.size()) == 0);
  REQUIRE(listen(abstract.get(), 9) == 0);
  CHECK(python("print(works(lambda: socket.socket(socket.AF_UNIX).connect('\\0" + name + "') or 1))") == "False");
  CHECK(python("print([works(lambda: libc.unshare(f) + 1 or None) for f in (0x10000000, 0x20000, 0x40000000)], "
               "works(lambda: libc.mount(b'x', b'/tmp', b'tmpfs', 0, None) + 1 or None), works(lambda: libc.ptrace(0, "
               "0, 0, 0) + 1 or None))") == "[False, False, False] False False");
  CHECK(python("sets = (ctypes.c_uint32 * 6)()\nlibc.capget((ctypes.c_uint32 * 2)(0x20080522, 0), sets)\n"
               "print(list(sets), os.getuid(), libc.prctl(39, 0, 0, 0, 0))") == "[0, 0, 0, 0, 0, 0] 1000 1");
  CHECK(python("print([works(lambda: resource.setrlimit(r, (-1, -1)) or 1) for r in (resource.RLIMIT_AS, "
               "resource.RLIMIT_FSIZE, "
               "resource.RLIMIT_NPROC, resource.RLIMIT_CORE, resource.RLIMIT_NOFILE)])") ==
        "[False, False, False, False, False]");
  CHECK(python("print(os.getppid(), works(lambda: os.kill(1, 9) or 1), os.getpid() < 10, works(lambda: os.kill(" +
               std::to_string(getpid()) + ", 0) or 1))") == "1 True True False");
}

TEST_CASE("root's groups are not those of its programs in a box") {
  if (geteuid() != 0 || is_skipped()) return;  // nobody else may give up its groups
  const gid_t disk = 6;
  REQUIRE(setgroups(1, &disk) == 0);
  CHECK(python("print(os.getgroups())") == "[]");
  setgroups(0, nullptr);
}

TEST_CASE("processes in a box have an end of their number, and files of their size") {
  if (is_skipped()) return;
  const std::string bomb =
      "n = 0\ntry:\n while n < 500:\n  if os.fork() == 0: time.sleep(100)\n  n += 1\nexcept OSError: pass\nprint(30 < "
      "n < 65)";
  CHECK(python(bomb) == "True");
  CHECK(python("import signal; signal.signal(25, 1)\nf = open('/tmp/x', 'wb')\nf.truncate(60 << "
               "20)\nprint(works(lambda: f.truncate(70 << 20)))") == "False");
}

TEST_CASE("a program in a box has so much memory, and all that it starts as much together") {
  if (is_skipped()) return;
  CHECK_THAT(python("x = bytearray(300 << 20)\nprint('had it')", 256), Catch::Contains("MemoryError"));
  CHECK(python("x = bytearray(150 << 20)\nprint('had it')", 256) == "had it");
  const std::string hogs =
      "for _ in range(2): os.fork()\nx = bytearray(b'x') * (150 << 20)\ntime.sleep(30)\nprint('had it')";
  CHECK_THAT(python(hogs, 256), Catch::Contains("MiB of memory, and 256 are allowed") && Catch::Contains("signal 9"));
}

TEST_CASE("a program in a box has a pool of processes, and /dev/shm within its memory") {
  if (is_skipped()) return;
  CHECK(python("import multiprocessing\nprint(sorted(multiprocessing.Pool(2).map(abs, [-1, 2])))") == "[1, 2]");
  const std::string fill =
      "for i in range(5): open(f'/dev/shm/{i}', 'wb').write(bytes(40 << 20))\ntime.sleep(1)\nprint('had it')";
  CHECK(python(fill, 400) == "had it");
  // Whichever comes first: the folder is full, or the keeper looks.
  CHECK_THAT(python(fill, 150), Catch::Contains("No space left on device") || Catch::Contains("and 150 are allowed"));
  const std::string both = "x = bytearray(b'x') * (100 << 20)\n" + fill;
  CHECK_THAT(python(both, 256), Catch::Contains("MiB of memory, and 256 are allowed") && Catch::Contains("signal 9"));
  CHECK(!is_there("/dev/shm/0"));
}

TEST_CASE("whatever a program in a box starts ends with it, and with whoever let go of it") {
  if (is_skipped()) return;
  const std::string word = fmt::format("9{:06}.25", getpid());  // seconds that nobody else sleeps
  const std::string daemons = "read q; (setsid sleep " + word + " &) ; setsid sh -c 'sleep " + word + " & sleep " +
                              word + "' & sleep 0.2; echo on; read q";
  {
    ChildProcess child(start_boxed({{"sh", "-c", daemons}}));
    std::string reply;
    REQUIRE(child.ask("q", kLongest_s, reply) == ChildProcess::Outcome::kDone);
    CHECK(comes([&] { return num_running(word) >= 3; }));
    CHECK(resident_mb_below(getpid()) >= 0);
  }
  CHECK(num_running(word) == 0);
  std::optional<StartedProgram> started;
  std::thread([&] { started.emplace(start_boxed({{"sleep", word}})); }).join();
  ChildProcess orphan(std::move(*started));
  CHECK(comes([&] { return num_running(word) == 0; }));
}

TEST_CASE("a program that does not start in a box is said to whoever starts it") {
  for (const bool is_isolated : {true, false}) {
    if (is_isolated && is_skipped()) continue;
    CHECK_THROWS_WITH(start_in_box({.is_isolated = is_isolated, .words = {"/no/such/program"}}),
                      "/no/such/program: No such file or directory");
  }
}

TEST_CASE("what cannot be in a box is said, with what to do") {
  if (is_skipped()) return;
  CHECK(why_not_boxed({{"sh", "-c", "exit 3"}}) == std::nullopt);
  CHECK_THROWS_WITH(why_not_boxed({{"/no/such/program"}}), Catch::Contains("/no/such/program: cannot be started"));
  if (geteuid() != 0) return;  // who starts it may read its own files
  const test::TemporaryFolder folder;
  std::ofstream(folder / "closed") << 1;
  fs::permissions(folder / "closed", fs::perms(0600));
  CHECK_THAT(*why_not_boxed({{"sh", (folder / "closed").string()}}),
             Catch::Contains("cannot read " + (folder / "closed").string()));
}

}  // namespace roll
