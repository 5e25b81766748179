#include "dist/config.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "base/error.h"

namespace roll {

namespace {

constexpr int64_t kMaxDevices = 65536;

/// Grammar: sum := part ('+' part)*; part := plain | 'list' '(' plain ')'; plain := '[' numbers ']' | range; range :=
/// 'range' '(' a, b, step ')'
class MappingParser {
 public:
  explicit MappingParser(const std::string& text) : text_(text) {}

  std::vector<int64_t> parse() {
    do part();
    while (take("+"));
    if (skip_blanks(); at_ != text_.size()) fail();
    return std::move(devices_);
  }

 private:
  [[noreturn]] void fail() const {
    throw user_error("not a device mapping; write list(range(0,8)), [0,1,2], or a sum of those");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  bool take(std::string_view word) {
    skip_blanks();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  void expect(std::string_view word) {
    if (!take(word)) fail();
  }

  int64_t number() {
    skip_blanks();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) fail();
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  std::vector<int64_t> numbers(std::string_view close) {
    std::vector<int64_t> values;
    while (!take(close)) {
      values.push_back(number());
      if (take(",")) continue;
      expect(close);
      break;
    }
    return values;
  }

  void part() {
    const bool is_wrapped = take("list");
    if (is_wrapped) expect("(");
    if (take("["))
      for (const int64_t device : numbers("]")) add(device);
    else
      range();
    if (is_wrapped) expect(")");
  }

  void range() {
    expect("range");
    expect("(");
    std::vector<int64_t> values = numbers(")");
    if (values.size() == 1) values.insert(values.begin(), 0);
    if (values.size() < 2 || values.size() > 3) fail();
    const int64_t step = values.size() == 3 ? std::min(values[2], kMaxDevices) : 1;
    if (step <= 0) throw user_error("a range of devices needs a step above 0");
    for (int64_t device = values[0]; device < values[1]; device += step) add(device);
  }

  void add(int64_t device) {
    if (device < 0 || device >= kMaxDevices) throw user_error("device {} is not in 0..{}", device, kMaxDevices - 1);
    if (!seen_.insert(device).second) throw user_error("names device {} twice; name each device once", device);
    devices_.push_back(device);
  }

  const std::string& text_;
  size_t at_ = 0;
  std::vector<int64_t> devices_;
  std::set<int64_t> seen_;
};

}  // namespace

DeviceMapping parse_device_mapping(const std::string& text) {
  DeviceMapping mapping{MappingParser(text).parse()};
  if (mapping.devices.empty()) throw user_error("names no device; remove the key to run on the CPU");
  return mapping;
}

void from_config_text(const std::string& text, DeviceMapping& mapping) {
  mapping = parse_device_mapping(text);
}

std::string to_config_text(const DeviceMapping& mapping) {
  const auto& devices = mapping.devices;
  for (size_t i = 1; i < devices.size(); ++i)
    if (devices[i] != devices[i - 1] + 1) return fmt::format("[{}]", fmt::join(devices, ","));
  return devices.size() < 2 ? fmt::format("[{}]", fmt::join(devices, ","))
                            : fmt::format("list(range({},{}))", devices.front(), devices.back() + 1);
}

}  // namespace roll
