// Request to HttpServer, and its response.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace roll {

struct HttpRequest {
  std::string method, path;                    // the path without its query
  std::map<std::string, std::string> headers;  // names in lower case; values of a repeated header are joined by ", "
  std::string body;

  /// Returns the value of a header, "" if absent. `name`: in lower case.
  const std::string& header(const std::string& name) const;
  void add_header(std::string name, const std::string& value);
  size_t content_length() const;  // announced by the client; else 0
  /// Returns why the body's length is in doubt, "" if it is not. A proxy before the server could read the length in
  /// another way and take the rest of one client's body for a request of another client.
  std::string framing_fault() const;
};

struct HttpResponse {
  int status = 200;
  std::string type;                            // content type; "" for none
  std::shared_ptr<const std::string> body;     // shared: a page sent to many clients is in memory once
  std::map<std::string, std::string> headers;  // additional headers

  static HttpResponse make(int status, std::string type, std::string body);
};

/// Returns true if a Host header names this machine. A page of another site, whose DNS name was pointed here, does not.
bool names_this_machine(std::string_view host);

}  // namespace roll
