#include "environment/remote_peer.h"

#include <array>
#include <charconv>

#include "base/env.h"
#include "base/error.h"
#include "base/json.h"
#include "base/names.h"
#include "environment/environment.h"
#include "environment/program_peer.h"
#include "transport/door.h"

namespace roll {

namespace {

constexpr std::chrono::seconds kGrace{5};  // extra time, as the server's limit starts when the question arrives
constexpr size_t kLongestAnswer = ChildProcess::kLongestLine + (1 << 16);  // including the word before it

constexpr const char* kSecretHint = "; check that ROLL_JOB_SECRET is the same on both hosts";

struct HostAndPort {
  std::string host;
  int port = 0;
};

HostAndPort parse_address(const std::string& address, const std::string& key) {
  const size_t colon = address.rfind(':');
  int port = 0;
  if (colon != std::string::npos) {
    const char* end = address.data() + address.size();
    if (std::from_chars(address.data() + colon + 1, end, port).ptr != end) port = 0;
  }
  if (colon == 0 || port < 1 || port > 65535)
    throw user_error("{} = {}: must be host:port, as `roll serve-environment` prints it", key, address);
  return {address.substr(0, colon), port};
}

class RemotePeer : public LinePeer {
 public:
  RemotePeer(std::string address, HostAndPort where) : address_(std::move(address)), host_and_port_(std::move(where)) {}

  void begin(const std::string& line, double timeout_s) override {
    to_send_ = fmt::format("{} {}\n", timeout_s, line);
    num_sent_ = 0;
    received_.clear();
    timeout_s_ = timeout_s;
    deadline_ =
        Clock::now() + kGrace + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
    is_lost_ = false;
    if (stage_ != Stage::kNone) return;
    try {
      if (!endpoint_) endpoint_ = resolve_endpoint(host_and_port_.host, host_and_port_.port);
      if (!secret_) secret_ = environment_secret(address_);
      socket_ = begin_connecting(*endpoint_);
      stage_ = Stage::kConnects;
    } catch (const std::runtime_error& error) {
      is_lost_ = true;
      why_lost_ = error.what();
    }
  }

  std::optional<std::string> advance() override {
    if (is_lost_) fail(EnvironmentFault::kCrash, fmt::format("at {} cannot be reached: {}", address_, why_lost_));
    try {
      if (connect()) exchange();
    } catch (const ConnectionLost& lost) {
      if (received_.find('\n') == std::string::npos)
        fail(EnvironmentFault::kCrash, fmt::format("at {} is not connected any more: {}{}", address_, lost.what(),
                                                   stage_ == Stage::kProves ? kSecretHint : ""));
    }
    if (const size_t newline = received_.find('\n'); newline != std::string::npos) return answer(newline);
    if (received_.size() >= kLongestAnswer)
      fail(EnvironmentFault::kFlood, fmt::format("at {} answered more than {} bytes", address_, kLongestAnswer));
    if (Clock::now() >= deadline_)
      fail(EnvironmentFault::kTimeout, fmt::format("at {} gave no answer within {} s", address_, timeout_s_));
    return std::nullopt;
  }

  void add_polls(std::vector<pollfd>& polls) const override {
    if (stage_ == Stage::kNone) return;
    const bool writes = stage_ == Stage::kConnects || (stage_ == Stage::kReady && num_sent_ < to_send_.size());
    const int fd = stage_ == Stage::kProves ? visit_->fd() : socket_.fd();
    polls.push_back({fd, static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN), 0});
  }
  Clock::time_point next_check_time() const override { return is_lost_ ? Clock::time_point{} : deadline_; }

  std::string drop() override {
    socket_ = {};
    visit_.reset();
    stage_ = Stage::kNone;
    return "";
  }

 private:
  enum class Stage { kNone, kConnects, kProves, kReady };

  /// Advances the connection. Returns true if the peer can be asked.
  bool connect() {
    if (stage_ == Stage::kConnects && is_connected(socket_)) {
      visit_.emplace(std::move(socket_), *secret_, Hello{});
      stage_ = Stage::kProves;
    }
    if (stage_ == Stage::kProves && visit_->go_on()) {
      socket_ = visit_->take_socket();
      visit_.reset();
      stage_ = Stage::kReady;
    }
    return stage_ == Stage::kReady;
  }

  void exchange() {
    const auto left = std::as_bytes(std::span(to_send_)).subspan(num_sent_);
    if (!left.empty()) num_sent_ += socket_.send_some(left);
    receive_into(received_, socket_, kLongestAnswer);
  }

  std::string answer(size_t newline) {
    const std::string_view line = std::string_view(received_).substr(0, newline);
    const size_t space = line.find(' ');
    const std::string_view word = line.substr(0, space);
    std::string content(line.substr(std::min(space, line.size() - 1) + 1));
    if (word == "ok") return content;
    for (const auto& [fault, name] : enum_names(EnvironmentFault()))
      if (word == name) fail(fault, fmt::format("at {} {}", address_, fault_text(content)));
    fail(EnvironmentFault::kGarbage, fmt::format("at {} answered {}", address_, shown_answer(line)));
  }

  static std::string fault_text(const std::string& text) {
    try {
      return parse_json(text, "answer").get<std::string>();
    } catch (const std::exception&) {
      return shown_answer(text);
    }
  }

  [[noreturn]] void fail(EnvironmentFault fault, const std::string& why) {
    drop();
    throw EnvironmentFailed(fault, why);
  }

  const std::string address_;
  const HostAndPort host_and_port_;
  std::optional<Endpoint> endpoint_;  // set at first use
  std::optional<JobSecret> secret_;
  Stage stage_ = Stage::kNone;
  Socket socket_;                   // while it connects, and once it is ready
  std::optional<DoorVisit> visit_;  // between these
  std::string to_send_, received_, why_lost_;
  size_t num_sent_ = 0;
  double timeout_s_ = 0;
  bool is_lost_ = false;
  Clock::time_point deadline_{};
};

}  // namespace

std::unique_ptr<LinePeer> make_remote_peer(const std::string& address, const std::string& key) {
  return std::make_unique<RemotePeer>(address, parse_address(address, key));
}

void check_remote(const std::string& address, const std::string& key) {
  const HostAndPort where = parse_address(address, key);
  try {
    resolve_endpoint(where.host, where.port);
  } catch (const ConnectionLost& unknown) {
    throw user_error("{} = {}: {}", key, address, unknown.what());
  }
  environment_secret(key);
}

JobSecret environment_secret(const std::string& subject) {
  const std::string secret = env("ROLL_JOB_SECRET").value_or("");
  if (secret.empty())
    throw user_error(
        "{}: ROLL_JOB_SECRET is not set; set it to the same text for the run and on each host of its environments "
        "(openssl rand -hex 16 makes one)",
        subject);
  return make_proof(parse_secret(secret), "environments", {});
}

}  // namespace roll
