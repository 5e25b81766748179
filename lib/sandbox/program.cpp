#include "sandbox/program.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace roll {

namespace {

constexpr size_t kErrorsKept = 4096, kLongestReport = 1 << 16, kLargestArtifact = 64 << 20;
constexpr int kMaxDrains = 100;         // a pipe holds less; only a daemon without isolation still writes
constexpr double kLongestDeath_s = 20;  // for a process tree on a machine out of memory

void read_into(Descriptor& from, std::string& text) {
  std::array<char, 1 << 16> buffer;
  const ssize_t count = read(from.get(), buffer.data(), buffer.size());
  if (count > 0)
    text.append(buffer.data(), static_cast<size_t>(count));
  else if (count == 0 || (errno != EAGAIN && errno != EINTR))
    from.close();
}

}  // namespace

void Program::stop(ProgramEnd::How reason) {
  if (std::exchange(is_stopped_, true)) return;
  stop_reason_ = reason;
  shutdown(leash_.get(), SHUT_WR);
}

void Program::read_output() {
  if (output_) read_into(output_, end_.output);
  if (errors_) read_into(errors_, end_.errors);
  if (std::ssize(end_.output) > max_output_) {
    end_.output.resize(static_cast<size_t>(max_output_));
    output_.close();
    stop(ProgramEnd::How::kOutput);
  }
  if (end_.errors.size() > 2 * kErrorsKept) end_.errors.erase(0, end_.errors.size() - kErrorsKept);
}

void Program::take_artifact(Descriptor file) {
  std::array<char, 1 << 16> buffer;
  for (ssize_t count = 1; count > 0 && end_.artifact.size() <= kLargestArtifact;) {
    count = read(file.get(), buffer.data(), buffer.size());
    if (count > 0) end_.artifact.append(buffer.data(), static_cast<size_t>(count));
  }
}

void Program::read_report() {
  std::string text(kLongestReport, '\0');
  iovec part = {text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = recvmsg(leash_.get(), &message, MSG_CMSG_CLOEXEC);
  if (count < 0 && errno == EINTR) return;
  has_ended_ = true;
  Descriptor artifact;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); count > 0 && header && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    artifact = Descriptor(fd);
  }
  if (count <= 0) {
    end_.why = "the process that watches the program has ended";
    return;
  }
  text.resize(static_cast<size_t>(count));
  const Json report = parse_json(text, "a sandbox's report");
  if (report.contains("error")) {
    end_.why = report["error"].get<std::string>();
    return;
  }
  end_.cpu_s = report["cpu_s"].get<double>();
  const int status = report["status"].get<int>();
  end_.how = status < 0 ? ProgramEnd::How::kSignal : ProgramEnd::How::kExited;
  end_.status = std::abs(status);
  if (report["killed"] == "memory") end_.how = ProgramEnd::How::kMemory;
  if (report["killed"] == "stopped" || (is_stopped_ && stop_reason_ == ProgramEnd::How::kOutput))
    end_.how = stop_reason_;
  if (artifact) take_artifact(std::move(artifact));
}

void Program::await(std::span<Program> programs, Clock::time_point deadline) {
  int num_drains = 0;
  for (Clock::time_point death_deadline = Clock::time_point::max();;) {
    std::vector<pollfd> waited;
    bool all_ended = true;
    for (const Program& program : programs) {
      all_ended = all_ended && program.has_ended_;
      waited.push_back({program.has_ended_ ? -1 : program.leash_.get(), POLLIN, 0});
      waited.push_back({program.output_.get(), POLLIN, 0});
      waited.push_back({program.errors_.get(), POLLIN, 0});
    }
    const Clock::time_point now = Clock::now();
    const auto until = std::min(deadline, death_deadline);
    const auto wait_ms = all_ended ? 0 : std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
    const int ready = poll(waited.data(), waited.size(), static_cast<int>(std::clamp<int64_t>(wait_ms, 0, 1000)));
    for (size_t i = 0; i < programs.size(); ++i) {
      if (waited[3 * i + 1].revents != 0 || waited[3 * i + 2].revents != 0) programs[i].read_output();
      if (waited[3 * i].revents != 0) programs[i].read_report();
    }
    if (all_ended && (ready <= 0 || ++num_drains > kMaxDrains)) return;
    const bool is_late = now >= deadline;
    if (!is_late && !programs[0].has_ended_) continue;
    for (Program& program : programs)
      program.stop(is_late && !programs[0].has_ended_ ? ProgramEnd::How::kTimeout : ProgramEnd::How::kStopped);
    if (death_deadline == Clock::time_point::max()) {
      death_deadline =
          now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kLongestDeath_s));
      deadline = death_deadline;
    } else if (now >= death_deadline && !all_ended) {
      throw system_error("a program in the sandbox was killed, but has not ended");
    }
  }
}

}  // namespace roll
