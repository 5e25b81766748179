#include "environment/python_class.h"

#include "base/error.h"
#include "base/file.h"
#include "environment/command.h"
#include "environment/config.h"
#include "environment/environment.h"
#include "process/python_name.h"

namespace roll {

namespace {

const std::string& require_class(const EnvironmentArgs& args, const std::string& where) {
  if (!args.python_class) throw user_error("{}python_class: missing; give FILE.py:CLASS or module.Class", where);
  if (!args.command.empty() || !args.addresses.empty())
    throw user_error("{}python_class = {}: {} is given too; remove one of the two", where, *args.python_class,
                     args.command.empty() ? "addresses" : "command");
  return *args.python_class;
}

}  // namespace

std::unique_ptr<Environment> make_python_environment(const EnvironmentArgs& args, const std::string& where) {
  parse_python_name(require_class(args, where), where + "python_class");
  return make_command_environment(args, where);
}

void check_python_environment(const EnvironmentArgs& args, const std::string& where) {
  const PythonName name = parse_python_name(require_class(args, where), where + "python_class");
  if (name.is_file() && !is_there(name.source))
    throw user_error("{}python_class = {}: {} is not there; a path counts from the folder that roll runs in", where,
                     *args.python_class, name.source);
  check_command(args, where);
}

}  // namespace roll
