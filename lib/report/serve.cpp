#include "report/serve.h"

#include <httplib.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOwnHost = "127.0.0.1";
constexpr int kMostConnections = 500;  // below what a process may have open
constexpr time_t kPatience_s = 2;      // with a browser that says nothing
constexpr double kRest = 10;           // times what making took: the run needs the processors, too

/// A text that changes whenever a run writes a step, a warning or its end.
std::string state_of(const std::vector<fs::path>& runs) {
  std::string state;
  for (const fs::path& run : runs)
    for (const char* name : {"metrics.jsonl", "log.txt", "rollouts", "samples", ".lock"}) {
      std::error_code absent;
      const auto time = fs::last_write_time(run / name, absent).time_since_epoch().count();
      const auto size = is_folder(run / name) ? 0 : fs::file_size(run / name, absent);
      state += fmt::format("{} {};", time, size);
    }
  return state;
}

/// Caches what was made last, as long as the runs have written nothing new.
class Kept {
 public:
  template <class Make>
  std::string get(const std::vector<fs::path>& runs, const Make& make) {
    const std::lock_guard lock(mutex_);
    const std::string state = state_of(runs);
    if (text_.empty() || (state != state_ && since_.seconds() > kRest * cost_s_)) {
      const Stopwatch watch;
      text_ = make();
      state_ = state;
      cost_s_ = watch.seconds();
      since_.restart();
    }
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string state_, text_;
  double cost_s_ = 0;
  Stopwatch since_;
};

/// A thread for each connection, so that those who are slow, or say nothing, keep nobody else waiting.
class Threads : public httplib::TaskQueue {
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

/// A page of somebody else, whose name was made to lead here, is not to read a run.
bool is_for_us(const httplib::Request& request) {
  const std::string host = request.get_header_value("Host");
  const std::string name = host.substr(0, host.find(':'));
  return name == kOwnHost || name == "localhost";
}

template <class Make>
httplib::Server::Handler answer(const char* type, const Make& make) {
  return [type, make](const httplib::Request& request, httplib::Response& response) {
    response.set_header("Cache-Control", "no-store");
    if (!is_for_us(request)) {
      response.status = 403;
      return;
    }
    try {
      response.set_content(make(), type);
    } catch (const std::exception& error) {  // a run's folder that is gone may come back
      response.status = 503;
      response.set_content(error.what(), "text/plain; charset=utf-8");
    }
  };
}

}  // namespace

void serve_report(ReportWish wish, int port, const std::function<void(int port)>& ready) {
  wish.is_live = true;
  report_data(wish);  // what is wrong with the runs is said before anything listens
  httplib::Server server;
  server.new_task_queue = [] { return new Threads; };  // NOLINT: the server takes it
  server.set_read_timeout(kPatience_s);
  server.set_keep_alive_timeout(kPatience_s);
  int listener = -1;
  server.set_socket_options([&](int socket) {
    httplib::default_socket_options(socket);
    listener = socket;
  });
  Kept page, data;
  server.Get(
      "/", answer("text/html; charset=utf-8", [&] { return page.get(wish.runs, [&] { return report_page(wish); }); }));
  server.Get("/data.json", answer("application/json",
                                  [&] { return data.get(wish.runs, [&] { return to_line(report_data(wish)); }); }));
  const int bound = port == 0 ? server.bind_to_any_port(kOwnHost) : server.bind_to_port(kOwnHost, port) ? port : -1;
  if (bound < 0) throw user_error("--serve {}: the port is taken; try another, or 0 for a free one", port);
  ::listen(listener, kMostConnections);  // the library's own queue has 5 places, and who finds it full waits seconds
  ready(bound);
  server.listen_after_bind();
}

}  // namespace roll
