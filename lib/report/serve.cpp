#include "report/serve.h"

#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "http/server.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLocalHost = "127.0.0.1";
// Minimum pause between rebuilds, in multiples of the build time: the run needs the CPU.
constexpr double kRestFactor = 10;

/// Returns a string that changes when a run writes a step or a warning, or ends.
std::string run_state(const std::vector<fs::path>& runs) {
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

HttpResponse uncached(int status, const std::string& type, std::string body) {
  HttpResponse response = HttpResponse::make(status, type, std::move(body));
  response.headers["Cache-Control"] = "no-store";
  return response;
}

HttpResponse refusal(int status, const std::string& why) {
  return uncached(status, "text/plain; charset=utf-8", why + "\n");
}

/// Caches a response until the runs write something new.
class CachedResponse {
 public:
  CachedResponse(const std::vector<fs::path>& runs, std::string type, std::function<std::string()> make)
      : runs_(runs), type_(std::move(type)), make_(std::move(make)) {}

  HttpResponse get() {
    const std::lock_guard lock(mutex_);
    const std::string state = run_state(runs_);
    if (!response_.body || (state != state_ && since_.seconds() > kRestFactor * build_s_)) {
      const Stopwatch watch;
      response_ = uncached(200, type_, make_());
      state_ = state;
      build_s_ = watch.seconds();
      since_.restart();
    }
    return response_;
  }

 private:
  const std::vector<fs::path> runs_;
  const std::string type_;
  const std::function<std::string()> make_;
  std::mutex mutex_;
  std::string state_;
  HttpResponse response_;
  double build_s_ = 0;
  Stopwatch since_;
};

}  // namespace

void serve_report(ReportOptions options, int port, const std::function<void(int port)>& ready) {
  options.is_live = true;
  report_data(options);  // reports faulty runs before the server starts
  CachedResponse page(options.runs, "text/html; charset=utf-8", [&] { return report_page(options); });
  CachedResponse data(options.runs, "application/json", [&] { return to_line(report_data(options)); });
  const std::map<std::string, CachedResponse*> pages{{"/", &page}, {"/data.json", &data}};
  const auto admit = [&](const HttpRequest& head) -> Admission {
    if (!names_this_machine(head.header("host")))
      return {.response = refusal(403, "the Host header does not name this machine")};
    const auto found = pages.find(head.path);
    if (head.method != "GET" || found == pages.end())
      return {.response = refusal(404, "not found; this server has GET / and GET /data.json")};
    return {.handler = [cached = found->second](const HttpRequest&, HttpReply& reply) {
      try {
        reply.send(cached->get());
      } catch (const std::exception& error) {  // a missing run folder may come back
        reply.send(refusal(503, error.what()));
      }
    }};
  };
  const HttpServer server({.host = kLocalHost, .port = port, .port_key = "--serve"}, {},
                          {.admit = admit, .refuse = refusal});
  ready(server.port());
  while (true) ::pause();
}

}  // namespace roll
