#include "job/mpirun_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/env.h"
#include "base/file.h"
#include "transport/socket.h"

namespace roll {

namespace fs = std::filesystem;

namespace {

constexpr int kFamilyBits = 16;  // a job's number: 16 bits for its mpirun, then 16 for the job

/// Parses the whole text as a number in that base.
std::optional<uint32_t> parse_number(std::string_view text, int base) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// Returns the mpirun's number: contact.txt begins with "357957632.0;tcp://...".
std::optional<uint32_t> read_family(const fs::path& session) {
  const std::string contact = read_file(session / "contact.txt");
  const auto job = parse_number(std::string_view(contact).substr(0, contact.find('.')), 10);
  return job ? std::optional(*job >> kFamilyBits) : std::nullopt;
}

/// Matches "vader_segment.host.0.15560001.1": host, user, job, rank.
bool is_segment(uint32_t family, const std::string& name) {
  const size_t rank = name.rfind('.'), job = rank == std::string::npos ? rank : name.rfind('.', rank - 1);
  if (job == std::string::npos || !name.starts_with(fmt::format("vader_segment.{}.", host_name()))) return false;
  const auto number = parse_number(std::string_view(name).substr(job + 1, rank - job - 1), 16);
  return number && *number >> kFamilyBits == family;
}

}  // namespace

SessionFolders session_folders(const fs::path& parent) {
  return {parent / fmt::format("ompi.{}.{}", host_name(), ::geteuid()), "/dev/shm"};
}

bool place_session(std::vector<std::string>& command, const fs::path& parent) {
  const auto names_folder = [](const std::string& word) { return word.ends_with("tmpdir_base"); };
  if (std::ranges::any_of(command, names_folder) || std::ranges::any_of(env_names(), names_folder)) return false;
  command.insert(command.begin() + 1, {"--mca", "orte_tmpdir_base", parent.string()});
  return true;
}

void remove_session(const SessionFolders& folders, pid_t mpirun) noexcept {
  std::error_code ignored;
  try {
    const fs::path session = folders.sessions / fmt::format("pid.{}", mpirun);
    if (const auto family = is_folder(session) ? read_family(session) : std::nullopt)
      for (const fs::path& segment : list_folder(folders.segments))
        if (is_segment(*family, segment.filename().string())) fs::remove(segment, ignored);
    fs::remove_all(session, ignored);
    fs::remove(folders.sessions, ignored);  // if it is empty now
  } catch (const std::exception&) {         // another version of Open MPI: its files stay
  }
}

}  // namespace roll
