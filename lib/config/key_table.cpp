#include "config/key_table.h"

namespace roll {

std::string key_row(const KeyInfo& info, const std::string& value) {
  const std::string allowed = info.allowed.empty() ? "" : fmt::format(" [{}]", fmt::join(info.allowed, " | "));
  return fmt::format("{:<60} {}{}\n", info.path + value, info.doc, allowed);
}

std::string KeyTable::text() const {
  return rows_ + "\nAccepted, without a meaning here:\n" + noted_ + "\nRefused, unless null, false or empty:\n" +
         refused_;
}

}  // namespace roll
