#include "app/cli/max_length.h"

#include "base/error.h"
#include "model/model_folder.h"

namespace roll {

void add_max_length(CLI::App& sub, int64_t& max_length, const std::string& otherwise) {
  sub.add_option(
         "--max-length", max_length,
         "tokens of the longest sequence; 0: " + otherwise +
             ", of LongRoPE its original context. More than that makes long_factor turn heads, of all sequences")
      ->check(CLI::Range(int64_t{0}, SizeLimits::kPositions))
      ->capture_default_str();
}

int64_t checked_length(const std::filesystem::path& model, int64_t max_length) {
  if (const int64_t most = read_spec(model).most_positions(); max_length > most)
    throw user_error("--max-length = {}: the model has {} positions", max_length, most);
  return max_length;
}

}  // namespace roll
