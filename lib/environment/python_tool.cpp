#include "environment/python_tool.h"

#include <map>
#include <optional>

#include "base/error.h"
#include "environment/environment.h"
#include "sandbox/box.h"
#include "sandbox/box_entry.h"

namespace roll {

namespace {

constexpr size_t kShownOutput = 4000, kShownErrors = 400;

/// Sandboxes of this thread; a failure removes one.
std::map<std::string, Box>& boxes() {
  thread_local std::map<std::string, Box> by_python;
  return by_python;
}

std::string text_tail(const std::string& text, size_t bytes) {
  size_t from = text.size() - std::min(text.size(), bytes);
  while (from < text.size() && (text[from] & 0xC0) == 0x80) ++from;  // inside a UTF-8 character
  return text.substr(from);
}

std::string output_or_error(const ProgramEnd& end, double timeout_s) {
  switch (end.how) {
    case ProgramEnd::How::kTimeout:
      throw ToolError(fmt::format("the program took longer than {} s", timeout_s));
    case ProgramEnd::How::kMemory:
      throw ToolError("the program used too much memory");
    case ProgramEnd::How::kOutput:
      throw ToolError("the program printed too much");
    case ProgramEnd::How::kNotStarted:
      throw EnvironmentFailed(EnvironmentFault::kCrash, "has no sandbox: " + end.why);
    default:
      break;
  }
  if (!end.ended_well()) throw ToolError(text_tail(end.errors, kShownErrors));
  if (end.output.empty()) return "(the program printed nothing)";
  return end.output.size() <= kShownOutput ? end.output : "..." + text_tail(end.output, kShownOutput);
}

class PythonTool : public Tool {
 public:
  PythonTool(std::string python, double timeout_s) : python_(std::move(python)), timeout_s_(timeout_s) {}
  std::string name() const override { return "python"; }
  std::string description() const override { return "Runs a Python program and returns its output."; }
  std::string argument() const override { return "code"; }
  std::string argument_description() const override { return "the program; print what you want to know"; }

  std::string call(const std::string& code) override {
    const auto limit = std::chrono::duration_cast<Program::Clock::duration>(std::chrono::duration<double>(timeout_s_));
    ProgramEnd end;
    try {
      Box& box = boxes().try_emplace(python_, BoxOptions{.python = python_}).first->second;
      end = box.run({.source = code}, Program::Clock::now() + limit);
    } catch (const std::runtime_error& e) {
      boxes().erase(python_);
      throw EnvironmentFailed(EnvironmentFault::kCrash, fmt::format("has no sandbox: {}", e.what()));
    }
    return output_or_error(end, timeout_s_);
  }

 private:
  std::string python_;
  double timeout_s_;
};

}  // namespace

std::unique_ptr<Tool> make_python_tool(const std::string& python, double timeout_s) {
  return std::make_unique<PythonTool>(python, timeout_s);
}

void check_python_tool(const std::string& python, const std::string& where) {
  std::optional<std::string> why;
  try {
    why = why_not_isolated(python);
  } catch (const UserError& e) {
    throw user_error("{}python = {}; use another Python", where, e.what());
  }
  if (why)
    throw user_error("{}python = {}: {}, or remove the tool python from tools", where, python, cannot_isolate(*why));
}

}  // namespace roll
