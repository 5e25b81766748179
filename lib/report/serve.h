// Serves the page of `roll report --serve` over HTTP to this machine, also while the run is active.
#pragma once

#include <functional>

#include "report/page.h"

namespace roll {

/// Serves GET / (the page) and GET /data.json (the page's data) on localhost; never returns. Both are rebuilt on a
/// request after the runs have written something. `port` 0 picks a free port; `ready` is called once, with the port,
/// when the server listens. Throws UserError before that if a run folder is faulty (report_data()) or the port is
/// taken.
void serve_report(ReportOptions options, int port, const std::function<void(int port)>& ready);

}  // namespace roll
