#include "process/signal_pipe.h"

#include <catch2/catch.hpp>
#include <csignal>
#include <thread>

namespace roll {

TEST_CASE("signals come out of the pipe, whichever thread they came to, and afterwards act as before", "[process]") {
  struct sigaction before {
  }, after{};
  ::sigaction(SIGUSR1, nullptr, &before);
  {
    SignalPipe signals({SIGUSR1, SIGTERM});
    CHECK_FALSE(signals.next());
    std::thread([] { ::pthread_kill(::pthread_self(), SIGTERM); }).join();
    std::raise(SIGUSR1);
    CHECK(signals.next() == SIGTERM);
    CHECK(signals.next() == SIGUSR1);
    CHECK_FALSE(signals.next());
  }
  ::sigaction(SIGUSR1, nullptr, &after);
  CHECK(after.sa_handler == before.sa_handler);
}

}  // namespace roll
