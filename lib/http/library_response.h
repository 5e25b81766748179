// Conversion of HttpResponse to libmicrohttpd, for HttpServer.
#pragma once

#include <microhttpd.h>

#include <memory>

#include "http/message.h"

namespace roll {

struct FreeResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using ResponseHandle = std::unique_ptr<MHD_Response, FreeResponse>;

/// Queues `response` with the status and headers of `head`. Returns MHD_NO, which ends the connection, if memory ran
/// out.
MHD_Result queue(MHD_Connection* connection, ResponseHandle response, const HttpResponse& head);
MHD_Result queue_whole(MHD_Connection* connection, const HttpResponse& answer);

}  // namespace roll
