#include "http/connection_list.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace roll {

ConnectionList::Clock::time_point ConnectionList::close_slow() {
  static constexpr std::string_view kTimeout = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
  std::vector<std::pair<Clock::time_point, int>> owing;
  for (const auto& [fd, connection] : connections_)
    if (connection.owes != Owes::kNothing) owing.emplace_back(connection.since, fd);
  std::ranges::sort(owing);
  const auto now = Clock::now();
  int64_t num_too_many = this->num_too_many();
  for (const auto& [since, fd] : owing) {
    if (num_too_many-- <= 0 && since + patience_ > now) return since + patience_;
    if (connections_.at(fd).owes == Owes::kRequest)
      ::send(fd, kTimeout.data(), kTimeout.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ::shutdown(fd, SHUT_RDWR);
  }
  return now + patience_;
}

void ConnectionList::close_all() {
  for (const auto& [fd, connection] : connections_) ::shutdown(fd, SHUT_RDWR);
}

bool has_hung_up(int fd) {
  pollfd side{.fd = fd, .events = POLLRDHUP, .revents = 0};
  return ::poll(&side, 1, 0) > 0;
}

}  // namespace roll
