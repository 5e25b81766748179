// A fork server around the real program, for tests that start it some thousand times: preloaded into `roll`, it stops
// before main, when the loader and LibTorch's constructors have done what takes 0.2 s of every start, and from then on
// forks a process for each start that client.cpp asks for. What runs there is the program's own main.
//
// What a forked process does not have of a started one: its own resource limits and OMP_NUM_THREADS, and a parent that
// asked for it. It takes itself for the client, so that the ranks that it starts are forked too.
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "forked/wire.h"

namespace {

using Main = int (*)(int, char**, char**);
using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);

constexpr int kIdleMs = 60'000;  // without a request for so long, the server ends

/// Of a forked process, as /proc/self/cmdline holds it.
std::string command_line;

/// The processes that run, by their connections.
std::map<int, pid_t> running;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// Becomes the process that `asked` describes; its words must outlive it.
void become(forked::Request& asked, sigset_t signals, std::vector<char*>& arguments, std::vector<char*>& environment) {
  for (int i = 0; i < 3; ++i) {
    dup2(asked.streams[i], i);
  }
  close_range(3, ~0U, 0);
  if (chdir(asked.folder.c_str()) != 0) _exit(126);
  arguments = pointers(asked.arguments);
  environment = pointers(asked.environment);
  environ = environment.data();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
}

void report_ended() {
  int status = 0;
  for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
    for (auto place = running.begin(); place != running.end(); ++place) {
      if (place->second != ended) continue;
      send(place->first, &status, sizeof status, MSG_NOSIGNAL);  // it may be gone
      close(place->first);
      running.erase(place);
      break;
    }
}

/// A client sends a signal's number to pass it on; one that is gone leaves nobody to tell: its process ends with it.
void pass_on(int connection) {
  unsigned char number = SIGKILL;
  if (read(connection, &number, 1) <= 0) number = SIGKILL;
  kill(running.at(connection), number);
}

/// Serves until it is a forked process (true) or has been idle for long (false).
bool serve(int listening, forked::Request& asked, std::vector<char*>& arguments, std::vector<char*>& environment) {
  sigset_t ended, before;
  sigemptyset(&ended);
  sigaddset(&ended, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ended, &before);
  const int signals = signalfd(-1, &ended, SFD_CLOEXEC);
  while (true) {
    std::vector<pollfd> waiting{{listening, POLLIN, 0}, {signals, POLLIN, 0}};
    for (const auto& [connection, process] : running) waiting.push_back({connection, POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), running.empty() ? kIdleMs : -1) == 0) return false;
    if (waiting[1].revents) {
      signalfd_siginfo info;
      (void)!read(signals, &info, sizeof info);
      report_ended();
    }
    for (size_t i = 2; i < waiting.size(); ++i)
      if (waiting[i].revents && running.contains(waiting[i].fd)) pass_on(waiting[i].fd);
    if (!waiting[0].revents) continue;
    const int connection = accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) continue;
    if (!forked::receive(connection, asked)) {
      close(connection);
      continue;
    }
    const pid_t process = fork();
    if (process == 0) {
      become(asked, before, arguments, environment);
      return true;
    }
    running[connection] = process;
    for (const int stream : asked.streams) close(stream);
  }
}

}  // namespace

/// Called by the program's start-up code in place of libc's, which it then calls.
extern "C" int __libc_start_main(Main main, int count, char** words, void (*init)(), void (*fini)(), void (*ended)(),
                                 void* stack) {
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  const char* listening = getenv("ROLL_FORK_SOCKET");
  if (!listening) return start(main, count, words, init, fini, ended, stack);
  const int socket = atoi(listening);
  unsetenv("ROLL_FORK_SOCKET");
  static forked::Request asked;  // what main is given lives as long as the process
  static std::vector<char*> arguments, environment;
  if (!serve(socket, asked, arguments, environment)) _exit(0);
  for (const std::string& word : asked.arguments) command_line += word + '\0';
  return start(main, static_cast<int>(asked.arguments.size()), arguments.data(), init, fini, ended, stack);
}

/// These are libc's but for the questions where the program lies and how it was called.
extern "C" ssize_t readlink(const char* path, char* target, size_t size) noexcept {
  static const auto read_link = reinterpret_cast<ssize_t (*)(const char*, char*, size_t)>(dlsym(RTLD_NEXT, "readlink"));
  if (command_line.empty() || std::strcmp(path, "/proc/self/exe") != 0) return read_link(path, target, size);
  const size_t length = std::min(size, std::strlen(ROLL_FORK_CLIENT));
  std::memcpy(target, ROLL_FORK_CLIENT, length);
  return static_cast<ssize_t>(length);
}

extern "C" FILE* fopen64(const char* path, const char* mode) {
  static const auto open_file = reinterpret_cast<FILE* (*)(const char*, const char*)>(dlsym(RTLD_NEXT, "fopen64"));
  if (command_line.empty() || std::strcmp(path, "/proc/self/cmdline") != 0) return open_file(path, mode);
  const int file = memfd_create("cmdline", MFD_CLOEXEC);  // streams of C++ want a descriptor
  (void)!write(file, command_line.data(), command_line.size());
  lseek(file, 0, SEEK_SET);
  return fdopen(file, mode);
}
extern "C" FILE* fopen(const char* path, const char* mode) {
  return fopen64(path, mode);
}
