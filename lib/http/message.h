// HTTP messages: a request that HttpServer received, and a response that it sends.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace roll {

struct HttpRequest {
  std::string method;                          // such as "POST"
  std::string path;                            // path of the URL, without query
  std::map<std::string, std::string> headers;  // names in lower case; values of a repeated header are joined by ", "
  std::string body;                            // empty until it has arrived

  /// Returns the value of a header; "" if it is missing. `name`: in lower case.
  const std::string& header(const std::string& name) const;
  /// Adds a header. `name`: in any case.
  void add_header(std::string name, const std::string& value);
  /// Returns the body's length in bytes as the header Content-Length says; 0 without this header.
  size_t content_length() const;
  /// Returns the reason why the body's length is ambiguous; "" if it is not. An ambiguous request must be refused: a
  /// proxy in front of the server may read another length, and so take the end of one client's body for another
  /// client's request.
  std::string framing_fault() const;
};

struct HttpResponse {
  int status = 200;
  std::string type;                            // content type; "" for none
  std::shared_ptr<const std::string> body;     // not null when sent; several responses may share one
  std::map<std::string, std::string> headers;  // headers besides Content-Type

  /// Returns a response with these fields and no further headers.
  static HttpResponse make(int status, std::string type, std::string body);
};

/// Returns true if `host`, the value of a Host header, is localhost, 127.0.0.1 or [::1], with or without a port.
/// Servers without a key require it. If another site points its DNS name to this machine, requests from its pages have
/// that name as Host.
bool names_this_machine(std::string_view host);

}  // namespace roll
