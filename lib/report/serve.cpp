#include "report/serve.h"

#include <httplib.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "http/listener.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOwnHost = "127.0.0.1";
constexpr int kPatience_s = 2;  // with a browser that says nothing
constexpr double kRest = 10;    // times what making took: the run needs the processors, too

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

template <class Make>
httplib::Server::Handler answer(const char* type, const Make& make) {
  return [type, make](const httplib::Request& request, httplib::Response& response) {
    response.set_header("Cache-Control", "no-store");
    if (!names_this_machine(request)) {
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
  Kept page, data;
  server.Get(
      "/", answer("text/html; charset=utf-8", [&] { return page.get(wish.runs, [&] { return report_page(wish); }); }));
  server.Get("/data.json", answer("application/json",
                                  [&] { return data.get(wish.runs, [&] { return to_line(report_data(wish)); }); }));
  const int bound = bind_listener(server, kOwnHost, port, kPatience_s);
  if (bound < 0) throw user_error("--serve {}: the port is taken; try another, or 0 for a free one", port);
  ready(bound);
  server.listen_after_bind();
}

}  // namespace roll
