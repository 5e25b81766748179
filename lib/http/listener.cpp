#include "http/listener.h"

#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/file.h"

namespace roll {

namespace {

constexpr int kMostConnections = 500;  // below what a process may have open

class ConnectionThreads : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> answer) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_running_ < kMostConnections; });
    ++num_running_;
    std::thread([this, answer = std::move(answer)] {
      answer();
      const std::lock_guard ended(mutex_);
      --num_running_;
      changed_.notify_all();
    }).detach();
  }
  void shutdown() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int num_running_ = 0;
};

/// The other end of a socket, as httplib names it.
bool leads_to(int socket, const std::string& host, int port) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  char text[INET6_ADDRSTRLEN] = "";
  if (address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    return ntohs(v4.sin_port) == port && ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text) && host == text;
  }
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  return address.ss_family == AF_INET6 && ntohs(v6.sin6_port) == port &&
         ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text) && host == text;
}

/// httplib does not say which socket a request came by.
int socket_of(const httplib::Request& request) {
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", gone)) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    if (leads_to(descriptor, request.remote_addr, request.remote_port)) return descriptor;
  }
  return -1;
}

}  // namespace

int bind_listener(httplib::Server& server, const std::string& host, int port, int patience_s) {
  server.new_task_queue = [] { return new ConnectionThreads; };  // NOLINT: the server takes it
  server.set_read_timeout(patience_s);
  server.set_keep_alive_timeout(patience_s);
  int listener = -1;
  server.set_socket_options([&](int socket) {
    httplib::default_socket_options(socket);
    listener = socket;
  });
  const int bound = port == 0 ? server.bind_to_any_port(host) : server.bind_to_port(host, port) ? port : -1;
  server.set_socket_options(httplib::default_socket_options);
  // The library's own queue has 5 places, and who finds it full waits seconds.
  if (bound >= 0) ::listen(listener, kMostConnections);
  return bound;
}

bool names_this_machine(const httplib::Request& request) {
  const std::string host = request.get_header_value("Host");
  const std::string name = host.substr(0, host.find(':'));
  return name == "127.0.0.1" || name == "localhost" || host.starts_with("[::1]");
}

bool has_hung_up(const httplib::Request& request) {
  char byte = 0;
  const int socket = socket_of(request);
  return socket < 0 || ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

}  // namespace roll
