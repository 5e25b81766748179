#include "sandbox/interpreter.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "process/child_process.h"

namespace roll {

namespace {

constexpr double kLongestStart_s = 30;
constexpr const char* kQuestion =
    "import json, os, sys; input(); print(json.dumps([os.path.abspath(sys.executable), [os.path.realpath(p) for p in "
    "(sys.prefix, sys.base_prefix)] + [os.path.abspath(sys.prefix), "
    "os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))], sys.version_info[:2] >= (3, 9)]), "
    "flush=True)";

}  // namespace

Interpreter find_interpreter(const std::string& python) {
  ChildProcess child({python, "-I", "-c", kQuestion});
  std::string reply;
  if (child.ask("", kLongestStart_s, reply) != ChildProcess::Outcome::kDone)
    throw user_error("{}: is not a Python 3 that starts: {}", python, child.stderr_tail());
  const Json answer = parse_json(reply, python);
  if (!answer[2].get<bool>()) throw user_error("{}: is older than Python 3.9", python);
  Interpreter found{answer[0].get<std::string>(), {}};
  for (const Json& folder : answer[1]) {
    const auto path = folder.get<std::string>();
    if (path.size() <= 1)
      throw user_error("{}: is installed in {}, and the sandbox would show this whole folder to programs", python,
                       path);
    if (path == "/tmp" || path == "/dev/shm")
      throw user_error("{}: is installed in {}, which is private to each program; install it in another folder", python,
                       path);
    if (path != "/usr" && std::ranges::find(found.folders, path) == found.folders.end()) found.folders.push_back(path);
  }
  return found;
}

}  // namespace roll
