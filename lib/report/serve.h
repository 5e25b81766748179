// Serves the page over HTTP to browsers on this machine, while the run goes on.
#pragma once

#include <functional>

#include "report/page.h"

namespace roll {

/// Answers GET / with the page and GET /data.json with its data, made again when the runs have written something;
/// until the process ends. Only this machine reaches it. `port` 0: a free one. `ready` is called with the port once it
/// listens. UserError: the page's; the port is taken.
void serve_report(ReportWish wish, int port, const std::function<void(int port)>& ready);

}  // namespace roll
