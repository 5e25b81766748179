// Two spellings of tensor names: versions of transformers store the parts of a multimodal model under other prefixes.
#pragma once

#include <string>
#include <vector>

namespace roll {

/// A prefix of names in some folders, and the prefix that roll has for it, as transformers' modules do.
struct NamePrefix {
  std::string in_folder, known;
};

/// Returns roll's name of a folder's tensor. A name that begins with one of the known prefixes stays, as does a name
/// that begins with none.
std::string known_name(const std::vector<NamePrefix>& prefixes, const std::string& name);

/// The inverse of known_name(), for a folder in which it changed names.
std::string folder_name(const std::vector<NamePrefix>& prefixes, const std::string& name);

}  // namespace roll
