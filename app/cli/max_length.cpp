#include "app/cli/max_length.h"

#include "base/error.h"
#include "model/model_folder.h"

namespace roll {

void add_max_length(CLI::App& sub, int64_t& max_length, const std::string& zero_meaning) {
  sub.add_option(
         "--max-length", max_length,
         "tokens of the longest sequence; 0: " + zero_meaning +
             ", with LongRoPE its original context. A larger value selects LongRoPE's long_factor for all sequences")
      ->check(CLI::Range(int64_t{0}, SizeLimits::kPositions))
      ->capture_default_str();
}

int64_t checked_length(const std::filesystem::path& model, int64_t max_length) {
  if (const int64_t max_positions = read_spec(model).most_positions(); max_length > max_positions)
    throw user_error("--max-length = {}: the model has only {} positions", max_length, max_positions);
  return max_length;
}

}  // namespace roll
