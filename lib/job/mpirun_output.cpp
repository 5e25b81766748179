#include "job/mpirun_output.h"

#include <fmt/ranges.h>

#include <array>
#include <cstdio>
#include <regex>
#include <utility>
#include <vector>

#include "job/launch.h"

namespace roll {

namespace {

constexpr std::string_view kError = "roll: ";
constexpr std::string_view kStarted = "roll: all ranks are there";
constexpr const char* kNotAllCame = "not all other ranks came";

bool is_dashes(const std::string& line) {
  return line.size() >= 60 && line.find_first_not_of('-') == std::string::npos;
}

/// Returns true for redundant notices: the failed rank has reported why, and we name a killed one.
bool is_redundant(const std::string& line) {
  static constexpr std::array kBegins = {
      "Primary job  terminated normally", "MPI_ABORT was invoked",
      "mpirun noticed that process rank", "prterun noticed that process rank",
      "mpirun detected that one or more", "An MPI communication peer process has unexpectedly disconnected"};
  for (const std::string_view begin : kBegins)
    if (line.starts_with(begin)) return true;
  return false;
}

/// Returns true for useless lines: "[h1:812] 1 more process has sent help message help-mpi-api.txt / mpi-abort", the
/// line after it, Open MPI 4's error when it counts them, mpirun's notes on forwarded signals, and libevent's warnings
/// as mpirun ends.
bool is_noise(const std::string& line) {
  for (const std::string_view begin : {"mpirun: Forwarding signal ", "[warn] Epoll "})
    if (line.starts_with(begin)) return true;
  static const std::regex pattern(
      R"(\[[^\]]+\] (\d+ more process(es)? ha(s|ve) sent help|Set MCA parameter "orte_base_help|.*/show_help\.c at).*)");
  return line.starts_with('[') && std::regex_match(line, pattern);
}

int parse_int(const std::ssub_match& match) {
  return std::stoi(match.str());
}

}  // namespace

void report_start() {
  if (has_supervisor()) std::fprintf(stderr, "%s\n", kStarted.data());
}

std::string waited_line(int rank, int num_ranks, const std::string& where_and_how_long) {
  return fmt::format("roll: rank {} of {}, {} and {} (the limit is backend_timeout)", rank, num_ranks,
                     where_and_how_long, kNotAllCame);
}

std::string MpirunOutput::missing() const {
  std::vector<int> missing;
  for (int rank = 0; rank < num_ranks_; ++rank)
    if (!waiting_.contains(rank)) missing.push_back(rank);
  return fmt::format("{}", fmt::join(missing, ", "));
}

std::string MpirunOutput::take(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    line_ += c;
    if (c != '\n') continue;
    line_.pop_back();
    if (remove_start_text()) continue;
    text += filter_line(line_);
    line_.clear();
  }
  return text;
}

std::string MpirunOutput::rest() {
  std::string text = line_.empty() ? "" : filter_line(line_);
  line_.clear();
  return text;
}

/// Another rank's line may have begun before it ("[h1:812] roll: all ranks are there"); that line goes on.
bool MpirunOutput::remove_start_text() {
  if (!line_.ends_with(kStarted)) return false;
  line_.resize(line_.size() - kStarted.size());
  return started_ = true;
}

std::string MpirunOutput::filter_line(const std::string& line) {
  const bool is_repeated = !waiting_.empty() && line.find(kNotAllCame) != std::string::npos;
  parse_line(line);
  if (is_repeated) return "";
  if (is_dashes(line)) {
    const Notice before = std::exchange(notice_, notice_ == Notice::kNone ? Notice::kBegun : Notice::kNone);
    if (before == Notice::kNone) dashes_ = line + "\n";
    text_.clear();
    return before == Notice::kShown ? line + "\n" : "";
  }
  if (notice_ != Notice::kNone) return filter_notice_line(line);
  return is_noise(line) ? "" : line + "\n";
}

/// A rank's line may come between a notice's lines; our own lines are always shown.
std::string MpirunOutput::filter_notice_line(const std::string& line) {
  if (notice_ == Notice::kLeftOut) return line.starts_with(kError) ? line + "\n" : "";
  if (notice_ == Notice::kShown) return line + "\n";
  notice_ = is_redundant(line) ? Notice::kLeftOut : Notice::kShown;
  return notice_ == Notice::kLeftOut ? "" : dashes_ + line + "\n";
}

void MpirunOutput::parse_line(const std::string& line) {
  static const std::regex kKilled(R"(process rank (\d+) with PID \d+ on node (\S+) exited on\s+signal (\d+))");
  static const std::regex kAborted(R"(with errorcode \d+\.?)");
  static const std::regex kWaited(R"(roll: rank (\d{1,6}) of (\d{1,6}), .* not all other ranks came )");
  static const std::regex kLost(R"(\s*Remote daemon: .* on node (\S+))");
  std::smatch match;
  if (std::regex_search(line, match, kWaited)) {
    waiting_.insert(parse_int(match[1]));
    num_ranks_ = parse_int(match[2]);
  }
  if (first_error_.empty() && line.starts_with(kError)) first_error_ = line.substr(kError.size());
  if (notice_ == Notice::kNone) return;
  text_ += line + "\n";  // Open MPI 5 wraps its sentences
  if (!killed_ && !has_aborted_ && std::regex_search(text_, match, kKilled))
    killed_ = KilledRank{.rank = parse_int(match[1]), .host = match[2], .signal = parse_int(match[3])};
  has_aborted_ |= std::regex_match(line, kAborted);
  if (std::regex_match(line, match, kLost)) lost_host_ = match[1];
}

}  // namespace roll
