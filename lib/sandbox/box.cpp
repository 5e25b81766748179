#include "sandbox/box.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "sandbox/python_text.h"
#include "sandbox/syscall_filter.h"

namespace roll {

namespace {

constexpr int kLongestStart_ms = 60'000;
constexpr size_t kMaxDescriptors = 32;  // per request; the same limit as in zygote.py

std::string hex(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::vector<std::string> zygote_command(bool is_isolated) {
  return {"-I", "-c", zygote_text(), to_line(Json{{"isolated", is_isolated}, {"filter", hex(syscall_filter())}})};
}

void await_ready(const Descriptor& control) {
  pollfd waited = {control.get(), POLLIN, 0};
  std::array<char, 16> word{};
  if (poll(&waited, 1, kLongestStart_ms) != 1 || recv(control.get(), word.data(), word.size(), 0) <= 0)
    throw system_error("the interpreter does not start in the sandbox");
}

/// Returns an in-memory file that is sealed against changes.
Descriptor sealed_file(const std::string& content) {
  Descriptor file(memfd_create("given", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) throw system_error("cannot make a file for the sandbox{}", errno_text());
  for (size_t at = 0; at < content.size();) {
    const ssize_t count = write(file.get(), content.data() + at, content.size() - at);
    if (count <= 0) throw system_error("cannot make a file for the sandbox{}", errno_text());
    at += static_cast<size_t>(count);
  }
  lseek(file.get(), 0, SEEK_SET);
  fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  return file;
}

void send_with_descriptors(const Descriptor& to, const std::string& text, const std::vector<Descriptor>& descriptors) {
  iovec part = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  for (size_t i = 0; i < descriptors.size(); ++i) {
    const int fd = descriptors[i].get();
    std::memcpy(CMSG_DATA(header) + i * sizeof fd, &fd, sizeof fd);
  }
  if (sendmsg(to.get(), &message, MSG_NOSIGNAL) < 0) throw system_error("the sandbox does not answer{}", errno_text());
}

Pipe output_pipe() {
  Pipe pipe = make_pipe("cannot make a pipe to the sandbox");
  fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  fchmod(pipe.write_end.get(), 0622);  // the program's user may reopen it as /dev/stdout
  return pipe;
}

constexpr const char* role_name(ProgramRequest::Role role) {
  using enum ProgramRequest::Role;
  return role == kScript     ? "script"
         : role == kSolution ? "solution"
         : role == kTests    ? "harness"
         : role == kTogether ? "together"
                             : "command";
}

Json request_json(const ProgramRequest& request, const std::string& work, bool shares_tmp) {
  Json files = Json::array(), modes = Json::array();
  for (const ProgramFile& file : request.files) {
    files.push_back(file.name);
    modes.push_back(file.mode);
  }
  const ProgramLimits& limits = request.limits;
  return {{"role", role_name(request.role)},
          {"argv", request.command},
          {"files", files},
          {"modes", modes},
          {"artifact", request.artifact},
          {"work", work},
          {"shares_tmp", shares_tmp},
          {"memory_mb", limits.memory_mb},
          {"tmp_mb", limits.tmp_mb},
          {"processes", limits.processes},
          {"cpu_s", limits.cpu_s}};
}

}  // namespace

Box::Box(const BoxOptions& options)
    : is_isolated_(options.is_isolated),
      process_(start_box_process(find_interpreter(options.python), zygote_command(is_isolated_), is_isolated_)) {
  if (!is_isolated_) folder_.emplace("roll-programs-");
  await_ready(process_.control);
}

Box::~Box() {
  ::kill(process_.pid, SIGKILL);
  waitpid(process_.pid, nullptr, 0);
}

std::string Box::work_folder() {
  if (is_isolated_) return "/tmp";
  const std::string root = folder_->path().string(), folder = fmt::format("{}/{}", root, num_programs_);
  std::error_code ignored;
  std::filesystem::remove_all(fmt::format("{}/{}", root, num_programs_ - 2), ignored);
  std::filesystem::create_directory(folder);
  return folder;
}

Program Box::start(ProgramRequest request) {
  ++num_programs_;
  return start_in(work_folder(), std::move(request), false);
}

std::vector<Program> Box::start_pair(ProgramRequest first, ProgramRequest second) {
  ++num_programs_;
  const std::string folder = work_folder();
  std::vector<Program> programs;
  programs.push_back(start_in(folder, std::move(first), true));
  programs.push_back(start_in(folder, std::move(second), false));
  return programs;
}

Program Box::start_in(const std::string& folder, ProgramRequest request, bool shares_tmp) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw system_error("cannot make a socket to the sandbox{}", errno_text());
  Descriptor leash(ends[0]);
  Pipe output = output_pipe(), errors = output_pipe();
  std::vector<Descriptor> descriptors;
  descriptors.emplace_back(ends[1]);
  descriptors.push_back(sealed_file(request.input));
  descriptors.push_back(std::move(output.write_end));
  descriptors.push_back(std::move(errors.write_end));
  descriptors.push_back(sealed_file(request.source));
  for (const ProgramFile& file : request.files) descriptors.push_back(sealed_file(file.content));
  if (request.channel) descriptors.push_back(std::move(request.channel));
  ROLL_CHECK(descriptors.size() <= kMaxDescriptors, "a request's files are few");
  send_with_descriptors(process_.control, to_line(request_json(request, folder, shares_tmp)), descriptors);
  return {std::move(leash), std::move(output.read_end), std::move(errors.read_end), request.limits.output_mb << 20};
}

ProgramEnd Box::run(ProgramRequest request, Program::Clock::time_point deadline) {
  Program program = start(std::move(request));
  Program::await({&program, 1}, deadline);
  return std::move(program.end());
}

std::optional<std::string> why_not_isolated(const std::string& python) {
  try {
    Box box({python, true});
    const ProgramEnd end = box.run({.source = "print(2)"}, Program::Clock::now() + std::chrono::seconds(30));
    if (end.output == "2\n") return std::nullopt;
    return end.why.empty() ? "a program cannot run in the sandbox: " + end.errors : end.why;
  } catch (const SystemError& error) {
    return error.what();
  }
}

}  // namespace roll
