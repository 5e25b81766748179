#include "report/rollout_lines.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "records/rollout_files.h"

namespace roll {

namespace fs = std::filesystem;

void read_lines(RunRecord& run, const fs::path& file, const std::function<void(Json)>& take) {
  std::ifstream in = open_to_read(file);
  int64_t num_bad = 0;
  for (std::string text; std::getline(in, text);) {
    if (text.empty()) continue;
    try {
      take(parse_json(text, file.filename().string()));
    } catch (const UserError&) {
      ++num_bad;
    } catch (const nlohmann::json::exception&) {
      ++num_bad;
    }
  }
  if (num_bad > 0)
    run.notes.push_back(fmt::format("{} {} of {} could not be read.", num_bad, num_bad == 1 ? "line" : "lines",
                                    file.filename().string()));
}

std::vector<RolloutRecord> records_of(RunRecord& run, const fs::path& folder, const std::string& prefix,
                                      int64_t number) {
  std::vector<RolloutRecord> records;
  for (const fs::path& file : rollout_files(folder, prefix, number))
    read_lines(run, file, [&](const Json& line) {
      RolloutRecord record = record_from_json(line, file.filename().string());
      if (!record.is_baseline) records.push_back(std::move(record));
    });
  sort_records(records);
  return records;
}

Json shown_text(const std::string& text) {
  if (text.size() <= kShownBytes) return text;
  const std::string begin(whole_characters(text, kShownBytes / 2));
  const size_t tail = next_character(text, text.size() - kShownBytes / 2);
  return Json::array({begin, tail - begin.size(), text.substr(tail)});
}

}  // namespace roll
