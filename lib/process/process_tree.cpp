#include "process/process_tree.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace roll {

namespace {

/// State of a process; nullopt if it no longer exists.
struct ProcessState {
  bool runs = false;
  pid_t parent = 0;
};
std::optional<ProcessState> read_state(const std::filesystem::path& folder) {
  std::ifstream stat(folder / "stat");
  std::string line;
  if (!std::getline(stat, line)) return std::nullopt;
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  char state = 'Z';
  pid_t parent = 0;
  fields >> state >> parent;
  return ProcessState{state != 'Z' && state != 'X', parent};
}

/// Returns the children of every process on the machine.
std::map<pid_t, std::vector<pid_t>> all_children() {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const std::filesystem::path& folder : list_folder("/proc")) {
    const bool is_process = std::isdigit(static_cast<unsigned char>(folder.filename().c_str()[0])) != 0;
    if (!is_process) continue;
    if (const auto state = read_state(folder)) children[state->parent].push_back(std::stoi(folder.filename().string()));
  }
  return children;
}

/// Returns the kernel's list of a process's children, if it has one: faster than a scan of all processes.
std::vector<pid_t> listed_children(pid_t parent) {
  std::vector<pid_t> children;
  std::error_code gone;
  std::filesystem::directory_iterator threads(fmt::format("/proc/{}/task", parent), gone), end;
  for (; !gone && threads != end; threads.increment(gone)) {
    std::ifstream list(threads->path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

}  // namespace

std::vector<pid_t> processes_below(pid_t root) {
  static const bool are_listed = std::ifstream("/proc/thread-self/children").is_open();
  const auto children_by_parent = are_listed ? std::map<pid_t, std::vector<pid_t>>{} : all_children();
  std::vector<pid_t> descendants, to_visit{root};
  while (!to_visit.empty()) {
    const pid_t parent = to_visit.back();
    to_visit.pop_back();
    const auto children = children_by_parent.find(parent);
    for (const pid_t child : are_listed                             ? listed_children(parent)
                             : children == children_by_parent.end() ? std::vector<pid_t>{}
                                                                    : children->second) {
      to_visit.push_back(child);
      const auto state = read_state(fmt::format("/proc/{}", child));
      if (state && state->runs) descendants.push_back(child);
    }
  }
  return descendants;
}

}  // namespace roll
