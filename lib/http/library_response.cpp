#include "http/library_response.h"

#include <utility>

namespace roll {

MHD_Result queue(MHD_Connection* connection, ResponseHandle response, const HttpResponse& head) {
  if (!response) return MHD_NO;
  if (!head.type.empty()) MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, head.type.c_str());
  for (const auto& [name, value] : head.headers)
    MHD_add_response_header(response.get(), name.c_str(), value.c_str());  // fails if the value has line breaks
  return MHD_queue_response(connection, static_cast<unsigned>(head.status), response.get());
}

MHD_Result queue_whole(MHD_Connection* connection, const HttpResponse& answer) {
  auto shared_body = std::make_unique<std::shared_ptr<const std::string>>(answer.body);
  const std::string& body = **shared_body;
  // The library wants void*, but only reads the bytes.
  ResponseHandle response(MHD_create_response_from_buffer_with_free_callback_cls(
      body.size(), const_cast<char*>(body.data()),
      [](void* text) { delete static_cast<std::shared_ptr<const std::string>*>(text); }, shared_body.get()));
  if (response) shared_body.release();  // NOLINT: the response deletes it
  return queue(connection, std::move(response), answer);
}

}  // namespace roll
