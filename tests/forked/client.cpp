// Stands for `roll` in tests that start it often: asks the fork server of server.cpp for a process with these
// arguments, environment, folder and standard streams, and ends as that one does. The first one starts the server,
// which ends by itself. Where no server can be had it is the program's own start.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>

#include "forked/wire.h"

namespace {

int connection = -1;

/// It comes some time later: a test that goes by when starts the program itself.
void pass_on(int number) {
  const auto byte = static_cast<unsigned char>(number);
  (void)!send(connection, &byte, 1, MSG_NOSIGNAL);  // the program may have ended
}

/// An abstract name, which leaves nothing in any folder; of this user and this very build of the program.
sockaddr_un address(socklen_t& size) {
  struct stat program {};
  stat(ROLL_BINARY, &program);
  std::string text = "roll-fork";
  for (const auto part : {static_cast<long>(getuid()), static_cast<long>(program.st_ino), program.st_mtim.tv_sec,
                          program.st_mtim.tv_nsec})
    text += "-" + std::to_string(part);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path + 1, text.data(), text.size());
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

/// Whoever gets the name is the server; others connect to it.
void start_server() {
  socklen_t size = 0;
  const sockaddr_un name = address(size);
  const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(listening, reinterpret_cast<const sockaddr*>(&name), size) != 0 || listen(listening, 64) != 0) {
    close(listening);
    return;
  }
  if (fork() == 0) {
    setsid();
    const int nothing = open("/dev/null", O_RDWR);
    for (int i = 0; i < 3; ++i) {
      dup2(nothing, i);
    }
    for (int fd = 3; fd < 256; ++fd)
      if (fd != listening) close(fd);
    setenv("ROLL_FORK_SOCKET", std::to_string(listening).c_str(), 1);
    const int library = open(ROLL_FORK_SERVER, O_RDONLY);  // LD_PRELOAD knows no blanks in names
    setenv("LD_PRELOAD", ("/proc/self/fd/" + std::to_string(library)).c_str(), 1);
    setenv("OMP_NUM_THREADS", "1", 1);  // tests run side by side
    execl(ROLL_BINARY, ROLL_BINARY, nullptr);
    _exit(127);
  }
  close(listening);
}

bool connect_to_server() {
  socklen_t size = 0;
  const sockaddr_un name = address(size);
  for (int attempt = 0; attempt < 2; ++attempt) {
    connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&name), size) == 0) return true;
    close(connection);
    start_server();
  }
  return false;
}

}  // namespace

int main(int, char** words) {
  forked::Request request{.streams = {0, 1, 2}};
  if (char* const folder = getcwd(nullptr, 0)) request.folder = folder;
  for (char** word = words; *word; ++word) request.arguments.emplace_back(*word);
  for (char** variable = environ; *variable; ++variable) request.environment.emplace_back(*variable);
  if (getenv("LD_PRELOAD") || !connect_to_server()) execv(ROLL_BINARY, words);
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT}) signal(number, pass_on);
  int status = 0;
  if (!forked::send(connection, request) ||
      recv(connection, &status, sizeof status, MSG_WAITALL) != static_cast<ssize_t>(sizeof status))
    return 126;
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return 126;
}
