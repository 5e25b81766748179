#include "sandbox/box.h"

#include <catch2/catch.hpp>

#include "checkpoint/temporary_folder.h"
#include "sandbox/interpreter.h"

namespace roll {

namespace {

/// Isolated where the kernel can; elsewhere what does not need it is tested all the same.
Box& shared_box() {
  static const std::optional<std::string> why = why_not_isolated("python3");
  if (why) WARN("not isolated: " << *why);
  static Box shared({.is_isolated = !why});
  return shared;
}

ProgramEnd run_program(ProgramRequest request, double seconds = 20) {
  const auto allowed = std::chrono::duration_cast<Program::Clock::duration>(std::chrono::duration<double>(seconds));
  return shared_box().run(std::move(request), Program::Clock::now() + allowed);
}

}  // namespace

TEST_CASE("a program reads its input and writes its output") {
  const ProgramEnd end =
      run_program({.source = "import sys\nprint(input() + '!')\nprint('e', file=sys.stderr)", .input = "hi\n"});
  CHECK(end.ended_well());
  CHECK(end.output == "hi!\n");
  CHECK(end.errors == "e\n");
}

TEST_CASE("how a program ends is told by its keeper") {
  CHECK(run_program({.source = "raise SystemExit(3)"}).status == 3);
  CHECK(run_program({.source = "1 / 0"}).status == 1);
  CHECK_FALSE(run_program({.source = "raise SystemExit('no')"}).ended_well());
  const ProgramEnd crash = run_program({.source = "import ctypes\nctypes.string_at(0)"});
  CHECK(crash.how == ProgramEnd::How::kSignal);
  CHECK(crash.status == 11);
}

TEST_CASE("time, processor time, memory and output have ends") {
  CHECK(run_program({.source = "import time\ntime.sleep(100)"}, 0.3).how == ProgramEnd::How::kTimeout);
  const ProgramEnd loop = run_program({.source = "while True: pass", .limits = {.cpu_s = 1}});
  CHECK(loop.how == ProgramEnd::How::kSignal);
  CHECK_THAT(run_program({.source = "x = bytearray(1 << 30)", .limits = {.memory_mb = 256}}).errors,
             Catch::Contains("MemoryError"));
  const ProgramEnd loud = run_program({.source = "while True: print('x' * 9999)", .limits = {.output_mb = 1}});
  CHECK(loud.how == ProgramEnd::How::kOutput);
  CHECK(loud.output.size() == 1 << 20);
}

TEST_CASE("a program names its standard streams, and of /proc sees nothing else") {
  const ProgramEnd end = run_program(
      {.source = "import sys\nfor name in ('/dev/stdin', '/dev/fd/0', '/proc/self/fd/0'): print(open(name).read())\n"
                 "for name in ('/dev/stdout', '/dev/fd/1', '/proc/self/fd/1'): print(name, file=open(name, 'w'), "
                 "flush=True)\n"
                 "print('e', file=open('/dev/stderr', 'w'))",
       .input = "hi"});
  CHECK(end.output == "/dev/stdout\n/dev/fd/1\n/proc/self/fd/1\nhi\nhi\nhi\n");
  CHECK(end.errors == "e\n");
  if (why_not_isolated("python3")) return;
  CHECK(run_program({.source = "import os\nfor name in ('', '1', 'self/mem', 'self/maps', 'self/root', "
                               "'self/fd/../mem', 'self/fd/../environ'):\n"
                               " try: print(name, os.listdir('/proc/' + name) if os.path.isdir('/proc/' + name) else "
                               "open('/proc/' + name))\n"
                               " except OSError: pass"})
            .output.empty());
}

TEST_CASE("a program has a pool of processes, and /dev/shm within its memory") {
  CHECK(run_program({.source = "from multiprocessing import Pool\ndef f(x): return x * x\nwith Pool(3) as pool: "
                               "print(pool.map(f, range(4)))"})
            .output == "[0, 1, 4, 9]\n");
  if (why_not_isolated("python3")) return;
  CHECK_FALSE(run_program({.source = "from multiprocessing import Pool\nwith Pool(30) as pool: print(1)",
                           .limits = {.processes = 8}})
                  .ended_well());
  const std::string fill =
      "import time\nfor i in range(6): open(f'/dev/shm/{i}', 'wb').write(bytes(40 << 20))\ntime.sleep(1)\nprint('had "
      "it')";
  CHECK(run_program({.source = fill, .limits = {.memory_mb = 400}}).output == "had it\n");
  CHECK(run_program({.source = fill, .limits = {.memory_mb = 200}}).output.empty());
  const std::string both =
      "import time\nx = bytearray(b'x') * (60 << 20)\nfor i in range(5): open(f'/dev/shm/{i}', "
      "'wb').write(bytes(30 << 20))\ntime.sleep(2)\nprint('had it')";
  CHECK(run_program({.source = both, .limits = {.memory_mb = 200}}).how == ProgramEnd::How::kMemory);
  CHECK(run_program({.source = "import os\nprint(os.listdir('/dev/shm'))"}).output == "[]\n");
}

TEST_CASE("an interpreter below /tmp is there, read-only, and nobody moves it") {
  if (why_not_isolated("python3")) return;
  const test::TemporaryFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  const std::filesystem::path venv = folder / "a b/venv", real = find_interpreter("python3").program;
  std::filesystem::create_directories(venv / "bin");
  std::filesystem::create_symlink(real, venv / "bin/python");
  std::ofstream(venv / "pyvenv.cfg") << "home = " << real.parent_path().string() << "\n";
  Box box({.python = (venv / "bin/python").string()});
  const ProgramEnd end = box.run(
      {.source =
           "import os, sys\nprint(sys.prefix)\ntop = '/tmp/' + sys.prefix.split('/')[2]\n"
           "for change in (lambda: os.rename(top, '/tmp/x'), lambda: os.mkdir(top + '/x'), lambda: open(sys.prefix + "
           "'/x', 'w'), lambda: os.rmdir(top)):\n try: print(change())\n except OSError: pass\n"
           "open('/tmp/y', 'w').write('1')\nprint(set(os.listdir('/tmp')) == {os.path.basename(top), 'y'} or "
           "os.listdir('/tmp'))"},
      Program::Clock::now() + std::chrono::seconds(30));
  CHECK(end.output == venv.string() + "\nTrue\n");
}

TEST_CASE("a command finds its files, and what it makes is given back") {
  const ProgramEnd end = run_program({.role = ProgramRequest::Role::kCommand,
                                      .command = {"sh", "-c", "cat a b > c; ls -l b | cut -c1-10"},
                                      .files = {{"a", "1"}, {"b", "2", 0700}},
                                      .artifact = "c"});
  CHECK(end.output == "-rwx------\n");
  CHECK(end.artifact == "12");
}

TEST_CASE("an artifact is a file, and no link or pipe") {
  for (const std::string made : {"ln -s /usr/bin/env c", "mkdir c", "true"})
    CHECK(run_program({.role = ProgramRequest::Role::kCommand, .command = {"sh", "-c", made}, .artifact = "c"})
              .artifact.empty());
}

TEST_CASE("a box outlives its programs' mischief") {
  for (const char* source : {"import os, signal\nos.kill(0, signal.SIGKILL)", "import os\nos.closerange(0, 99)",
                             "import os\nos.fork()\nos.fork()\nwhile True: pass"})
    run_program({.source = source}, 0.5);
  CHECK(run_program({.source = "print(1)"}).output == "1\n");
}

TEST_CASE("an interpreter that is none is named") {
  CHECK_THROWS_WITH(Box({.python = "/no/such/python"}), Catch::Contains("/no/such/python"));
  CHECK_THROWS_WITH(Box({.python = "true"}), Catch::Contains("not a Python 3"));
}

}  // namespace roll
