#include "track/progress.h"

#include <mutex>
#include <sstream>
#include <thread>

#include "track/curve.h"

using namespace roll;

namespace {

/// What two threads write, and one of them waits for.
class Screen : public std::stringbuf {
 public:
  std::string text() {
    const std::lock_guard lock(mutex_);
    return str();
  }
  bool shows(const std::string& wanted) {
    for (int i = 0; i < 6000 && text().find(wanted) == std::string::npos; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return text().find(wanted) != std::string::npos;
  }

 private:
  std::streamsize xsputn(const char* begin, std::streamsize count) override {
    const std::lock_guard lock(mutex_);
    return std::stringbuf::xsputn(begin, count);
  }
  int_type overflow(int_type c) override {
    const std::lock_guard lock(mutex_);
    return std::stringbuf::overflow(c);
  }
  std::recursive_mutex mutex_;  // xsputn may call overflow
};

}  // namespace

TEST_CASE("on a terminal progress is redrawn and leaves nothing behind", "[track]") {
  Screen screen;
  std::ostream out(&screen);
  std::ostringstream err;
  {
    Log log(out, err, {.rank = 0, .num_ranks = 1, .terminal = {true, 100}});
    Progress progress(log, "generate", 8, "responses");
    progress.detail("score 0.5");
    std::thread([&] { progress.advance(6); }).join();
    CHECK(screen.shows("generate 6/8 responses (75%)"));
    CHECK(progress.done() == 6);
    log.info("a line between");
  }
  const std::string text = screen.text();
  CHECK_THAT(text, Catch::Contains("generate 0/8 responses (0%)") && Catch::Contains(" left, score 0.5"));
  CHECK_THAT(text, Catch::Contains("\r\033[2Ka line between\n"));
  CHECK(text.substr(text.rfind('\r')) == "\r\033[2K");
}

TEST_CASE("the time left is that of the work where it is told, else of the count", "[track]") {
  Screen screen;
  std::ostream out(&screen);
  Log log(out, out, {.rank = 0, .num_ranks = 1, .terminal = {true, 200}});
  Progress progress(log, "generate", 8, "responses");
  progress.share(1e-9);  // of the count nothing is done: nothing would be left to say
  CHECK(screen.shows("generate 0/8 responses (0%), 0."));
  CHECK(screen.shows(" d "));
  CHECK(screen.shows(" left"));
  progress.share(1);
  CHECK(screen.shows(", 0.00 s left"));
}

TEST_CASE("elsewhere a short phase prints nothing, and other ranks never draw", "[track]") {
  for (const LogOptions& options : {LogOptions{0, 1, {}}, LogOptions{1, 2, {true, 80}}}) {
    std::ostringstream out, err;
    {
      Log log(out, err, options);
      Progress progress(log, "train", 8, "updates");
      progress.advance(8);
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    CHECK(out.str().empty());
  }
}

TEST_CASE("a curve rises from its smallest to its largest value", "[track]") {
  CHECK(plot_curve({0, 1}, 10, 1) == "1 ┤⡈\n");
  CHECK(plot_curve({0, 1, 2, 3}, 10, 1) == "3 ┤⡠⠊\n");
  CHECK(plot_curve({0, 1}, 10, 2) == "1 ┤⠈\n0 ┤⡀\n");
}

TEST_CASE("a long curve is averaged into its width, and gaps stay gaps", "[track]") {
  std::vector<double> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const std::string picture = plot_curve(values, 20, 4);
  CHECK(std::count(picture.begin(), picture.end(), '\n') == 4);
  CHECK_THAT(picture, Catch::StartsWith("987 ┤") && Catch::Contains("\n 12 ┤"));
  CHECK(plot_curve({std::nan(""), std::nan("")}, 20, 4).empty());
  CHECK(plot_curve({}, 20, 4).empty());
  CHECK_FALSE(plot_curve({1, 1, std::nan(""), 1}, 20, 4).empty());
}
