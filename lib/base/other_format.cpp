#include "base/other_format.h"

#include <algorithm>

#include "base/error.h"
#include "base/shell.h"

namespace roll {

namespace {

using namespace std::string_view_literals;

/// `command`: {} is replaced by the file.
struct Format {
  std::string_view magic;
  const char* name;
  const char* command;
};

constexpr const char* kPandas =
    "python3 -c \"import sys, pandas; pandas.{0}(sys.argv[1]).to_json(sys.argv[1] + '.jsonl', orient='records', "
    "lines=True)\"";

constexpr Format kFormats[] = {
    {"PAR1"sv, "a Parquet file", "read_parquet"},
    {"ARROW1"sv, "an Arrow file", "read_feather"},
    {"\xff\xff\xff\xff"sv, "an Arrow stream",
     "python3 -c \"import sys, datasets; datasets.Dataset.from_file(sys.argv[1]).to_json(sys.argv[1] + '.jsonl')\" {}"},
    {"\x1f\x8b"sv, "compressed by gzip", "gunzip -k {}"},
    {"\x28\xb5\x2f\xfd"sv, "compressed by zstd", "zstd -d {}"},
    {"\xfd"
     "7zXZ"sv,
     "compressed by xz", "unxz -k {}"},
    {"BZh"sv, "compressed by bzip2", "bunzip2 -k {}"},
    {"PK\x03\x04"sv, "a zip archive", "unzip {}"},
    {"SQLite format 3"sv, "an SQLite database", "sqlite3 -json {} 'select * from rows' | jq -c '.[]' > rows.jsonl"},
    {"\xff\xfe"sv, "text in UTF-16", "iconv -f UTF-16 -t UTF-8 {} > rows.jsonl"},
    {"\xfe\xff"sv, "text in UTF-16", "iconv -f UTF-16 -t UTF-8 {} > rows.jsonl"},
    {"version https://git-lfs"sv, "a pointer of Git LFS, not the file itself", "git lfs pull --include {}"},
    {"<"sv, "a page of HTML or XML", "download the file itself, not the web page about it, in place of {}"},
};

bool is_table(std::string_view line) {
  const bool is_text =
      std::ranges::all_of(line, [](char c) { return c == '\t' || static_cast<unsigned char>(c) >= 32; });
  return is_text && line.find_first_of(",;\t") != std::string_view::npos;
}

std::string conversion_command(const Format& format, const std::string& file) {
  std::string command = format.command;
  const std::string quoted = shell_line({file});
  if (command.starts_with("read_")) return fmt::format(fmt::runtime(kPandas), command) + " " + quoted;
  const size_t marker = command.find("{}");
  return command.replace(marker, 2, quoted);
}

[[noreturn]] void refuse(const Format& format, const std::string& file) {
  throw user_error("{}: is {}, but JSON lines are needed, one object per line; {}", file, format.name,
                   conversion_command(format, file));
}

}  // namespace

void refuse_other_format(std::string_view beginning, const std::string& file) {
  for (const Format& format : kFormats)
    if (beginning.starts_with(format.magic)) refuse(format, file);
  const size_t begin = beginning.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return;
  const std::string_view line = beginning.substr(begin, beginning.find_last_not_of(" \t\r") + 1 - begin);
  if (line.front() == '[') refuse({"", "a JSON array", "jq -c '.[]' {} > rows.jsonl"}, file);
  if (line == "{") refuse({"", "JSON over several lines", "jq -c . {} > rows.jsonl"}, file);
  if (line.front() != '{' && is_table(line)) refuse({"", "a table, as CSV", "read_csv"}, file);
}

}  // namespace roll
