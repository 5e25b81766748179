#include "model/folder_check.h"

#include "base/error.h"
#include "base/file.h"
#include "model/model_parameters.h"
#include "model/weights.h"

namespace roll {

void check_folder(const std::filesystem::path& folder, const ModelSpec& spec, FolderUse use) {
  const bool has_head = use == FolderUse::kWrites || use == FolderUse::kForwards;
  const bool needs_tokenizer = use == FolderUse::kWrites || use == FolderUse::kReads;
  check_parameters(HfFolder::open(folder), has_head ? policy_parameters(spec) : backbone_parameters(spec));
  if (needs_tokenizer && !is_there(folder / "tokenizer.json"))
    throw user_error(
        "{}: the folder has no tokenizer.json; save it with its fast tokenizer (tokenizer.save_pretrained)",
        folder.string());
}

}  // namespace roll
