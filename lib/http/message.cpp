#include "http/message.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace roll {

HttpResponse HttpResponse::make(int status, std::string type, std::string body) {
  return {.status = status,
          .type = std::move(type),
          .body = std::make_shared<const std::string>(std::move(body)),
          .headers = {}};
}

const std::string& HttpRequest::header(const std::string& name) const {
  static const std::string kAbsent;
  const auto found = headers.find(name);
  return found == headers.end() ? kAbsent : found->second;
}

void HttpRequest::add_header(std::string name, const std::string& value) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto [found, is_new] = headers.emplace(std::move(name), value);
  if (!is_new) found->second += ", " + value;
}

size_t HttpRequest::content_length() const {
  return std::strtoull(header("content-length").c_str(), nullptr, 10);
}

std::string HttpRequest::framing_fault() const {
  for (const std::string known : {"content-length", "transfer-encoding"})
    for (const auto& [name, value] : headers)
      if (name.starts_with(known) && name != known)
        return "a header's name contains " + known;  // a space, or a folded line
  const std::string &length = header("content-length"), &coding = header("transfer-encoding");
  if (length.find(',') != std::string::npos) return "there are two Content-Length headers";
  if (!length.empty() && !coding.empty()) return "there are both Content-Length and Transfer-Encoding";
  if (!coding.empty() && coding != "chunked") return "the only supported Transfer-Encoding is chunked";
  return "";
}

bool names_this_machine(std::string_view host) {
  for (const std::string_view name : {"127.0.0.1", "localhost", "[::1]"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = host.substr(name.size());
    if (rest.empty()) return true;
    return rest.front() == ':' && rest.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }
  return false;
}

}  // namespace roll
