// What the fork server and its clients send each other over a socket of this machine.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace forked {

/// A start of the program.
struct Request {
  std::array<int, 3> streams{};  // standard input, output, error
  std::string folder;
  std::vector<std::string> arguments, environment;
};

inline std::string packed(const Request& request) {
  std::string bytes = request.folder + '\0' + std::to_string(request.arguments.size()) + '\0';
  for (const auto* words : {&request.arguments, &request.environment})
    for (const std::string& word : *words) bytes += word + '\0';
  return bytes;
}

inline bool send(int socket, const Request& request) {
  const std::string bytes = packed(request);
  size_t size = bytes.size();
  iovec first{&size, sizeof size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof request.streams)] = {};
  msghdr message{.msg_iov = &first, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  cmsghdr* const passed = CMSG_FIRSTHDR(&message);
  passed->cmsg_level = SOL_SOCKET;
  passed->cmsg_type = SCM_RIGHTS;
  passed->cmsg_len = CMSG_LEN(sizeof request.streams);
  std::memcpy(CMSG_DATA(passed), request.streams.data(), sizeof request.streams);
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof size)) return false;
  for (size_t sent = 0; sent < size;) {
    const ssize_t more = ::send(socket, bytes.data() + sent, size - sent, MSG_NOSIGNAL);
    if (more <= 0) return false;
    sent += static_cast<size_t>(more);
  }
  return true;
}

inline bool receive(int socket, Request& request) {
  size_t size = 0;
  iovec first{&size, sizeof size};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof request.streams)] = {};
  msghdr message{.msg_iov = &first, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != static_cast<ssize_t>(sizeof size) || !CMSG_FIRSTHDR(&message))
    return false;
  std::memcpy(request.streams.data(), CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof request.streams);
  std::string bytes(size, '\0');
  if (recv(socket, bytes.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size)) return false;
  std::vector<std::string> words;
  for (size_t begin = 0; begin < size;) {
    words.emplace_back(bytes.c_str() + begin);
    begin += words.back().size() + 1;
  }
  request.folder = words.at(0);
  const auto arguments = words.begin() + 2, environment = arguments + std::stol(words.at(1));
  request.arguments.assign(arguments, environment);
  request.environment.assign(environment, words.end());
  return true;
}

}  // namespace forked
