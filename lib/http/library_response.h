// Sends HttpResponse objects through libmicrohttpd, for HttpServer. Call these functions only in the library's
// callbacks.
#pragma once

#include <microhttpd.h>

#include <memory>

#include "http/message.h"

namespace roll {

/// Deleter of ResponseHandle.
struct FreeResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
/// Owns a response of the library; null if the library could not create it.
using ResponseHandle = std::unique_ptr<MHD_Response, FreeResponse>;

/// Queues `response`, which holds the body, with the status, type and headers of `head`; the body of `head` is not
/// used. Returns the result for the library: MHD_NO, which ends the connection, if `response` is null or cannot be
/// queued.
MHD_Result queue(MHD_Connection* connection, ResponseHandle response, const HttpResponse& head);
/// Queues `answer` with its body, which must not be null and is not copied. Returns as queue() does.
MHD_Result queue_whole(MHD_Connection* connection, const HttpResponse& answer);

}  // namespace roll
