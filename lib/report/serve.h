// Serves the report page over HTTP on this machine, also while the run is active.
#pragma once

#include <functional>

#include "report/page.h"

namespace roll {

/// Serves GET / (page) and GET /data.json (its data) on localhost until the process ends. Both are rebuilt after the
/// runs have written something. `port` 0 picks a free one; `ready` is called with the port once it listens. UserError:
/// as report_data(), or the port is taken.
void serve_report(ReportOptions options, int port, const std::function<void(int port)>& ready);

}  // namespace roll
