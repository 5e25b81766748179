#include "config/key_table.h"

namespace roll {

std::string key_row(const KeyInfo& info, const std::string& value) {
  const std::string words =
      info.allowed.empty() ? info.range.brief() : fmt::format("{}", fmt::join(info.allowed, " | "));
  const std::string allowed = words.empty() ? "" : fmt::format(" [{}]", words);
  return fmt::format("{:<60} {}{}\n", info.path + value, info.doc, allowed);
}

std::string KeyTable::text() const {
  return rows_ + "\nAccepted, without a meaning here:\n" + noted_ + "\nRefused, unless null, false or empty:\n" +
         refused_;
}

}  // namespace roll
