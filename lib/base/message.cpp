#include "base/message.h"

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/harmless.h"

namespace roll {

namespace {

constexpr const char* kRemedy = "all ranks of a job must run the same build of roll";

std::string describe_source(const MessageKind& kind, const Sender& sender) {
  const std::string group_text = sender.group == "world" ? "" : fmt::format(" of '{}'", sender.group);
  return sender.rank < 0 ? kind.name : fmt::format("{} from rank {}{}", kind.name, sender.rank, group_text);
}

}  // namespace

void MessageWriter::write_count(size_t count) {
  ROLL_CHECK(count <= std::numeric_limits<uint32_t>::max(), "a message's texts and lists are below 4 GiB");
  write(static_cast<uint32_t>(count));
}

MessageReader::MessageReader(std::string_view bytes, const MessageKind& kind, const Sender& sender)
    : bytes_(bytes), kind_(kind), sender_(sender) {
  std::string tag(4, '\0');
  path_.push_back({"tag"});
  copy(tag.data(), tag.size());
  if (tag != kind.tag) refuse_build(fmt::format("begins with '{}', not with '{}'", harmless(tag), kind.tag));
  uint32_t version = 0;
  path_.back() = {"version"};
  read(version);
  if (version != kind.version)
    refuse_build(fmt::format("has version {}, but this rank reads version {}", version, kind.version));
  path_.pop_back();
}

void MessageReader::refuse(const std::string& problem) const {
  std::string path;
  for (const Step& step : path_) {
    path += fmt::format("{}{}", path.empty() ? "" : ".", step.name);
    if (step.index >= 0) path += fmt::format("[{}]", step.index);
  }
  throw system_error("{}: {} at byte {} of {} {}: the message was damaged on its way, or comes from another build; {}",
                     describe_source(kind_, sender_), path.empty() ? "the end" : path, at_, bytes_.size(), problem,
                     kRemedy);
}

void MessageReader::refuse_build(const std::string& problem) const {
  throw user_error("{}: {}: {}; start every rank with the same build", describe_source(kind_, sender_), problem,
                   kRemedy);
}

void MessageReader::expect_end() const {
  if (at_ != bytes_.size()) refuse("is followed by more bytes");
}

void MessageReader::copy(void* data, size_t size) {
  if (size > bytes_.size() - at_) refuse(fmt::format("needs {} bytes", size));
  if (size > 0) std::memcpy(data, bytes_.data() + at_, size);
  at_ += size;
}

size_t MessageReader::read_count(size_t min_entry_bytes) {
  uint32_t count = 0;
  read(count);
  if (count * min_entry_bytes > bytes_.size() - at_)
    refuse(fmt::format("has {} entries of at least {} bytes", count, min_entry_bytes));
  return count;
}

bool MessageReader::read_flag() {
  uint8_t flag = 0;
  read(flag);
  if (flag > 1) refuse(fmt::format("is {}, not 0 or 1", flag));
  return flag == 1;
}

void MessageReader::read_text(std::string& text) {
  text.resize(read_count(1));
  copy(text.data(), text.size());
}

void MessageReader::read_json(Json& json) {
  std::string text;
  read_text(text);
  try {
    json = parse_json(text, "JSON");
  } catch (const UserError& error) {
    refuse(fmt::format("is not JSON ({})", error.what()));
  }
}

}  // namespace roll
