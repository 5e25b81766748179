// A request to an HTTP server of ours, and its response.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace roll {

struct HttpRequest {
  std::string method, path;                    // the path without its query
  std::map<std::string, std::string> headers;  // names in lower case; of repeated headers the last one
  std::string body;

  /// Value of a header, "" if absent. `name` in lower case.
  const std::string& header(const std::string& name) const;
  size_t content_length() const;  // as the client announced it; 0 if it did not
};

struct HttpResponse {
  int status = 200;
  std::string type;                            // content type; "" for none
  std::shared_ptr<const std::string> body;     // shared, so that a page sent to many clients is in memory once
  std::map<std::string, std::string> headers;  // further ones

  static HttpResponse of(int status, std::string type, std::string body);
};

/// True if a Host header names this machine. A page of another site, whose DNS name was pointed here, does not.
bool names_this_machine(std::string_view host);

}  // namespace roll
