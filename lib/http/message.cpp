#include "http/message.h"

#include <cstdlib>
#include <utility>

namespace roll {

HttpResponse HttpResponse::of(int status, std::string type, std::string body) {
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

size_t HttpRequest::content_length() const {
  return std::strtoull(header("content-length").c_str(), nullptr, 10);
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
