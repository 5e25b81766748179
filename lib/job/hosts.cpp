#include "job/hosts.h"

#include <charconv>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "config/yaml.h"

namespace roll {

namespace {

constexpr int64_t kMaxSlots = 65536;  // per host, and in total
constexpr size_t kMaxBytes = 1 << 20;

constexpr const char* kNameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%@";

std::vector<std::string> split_words(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

int64_t parse_count(const std::string& text, const std::string& key, const std::string& location) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > kMaxSlots)
    throw user_error("{}: {} = {}: must be a whole number from 1 to {}", location, key, text, kMaxSlots);
  return value;
}

/// Parses "name key=value...", without blanks around "=".
Host parse_host(const std::vector<std::string>& words, const std::string& location) {
  Host host{.name = words[0], .slots = 0};
  if (host.name.find('=') != std::string::npos)
    throw user_error("{}: {}: a line begins with the name of a host; write e.g. \"node1 slots=8\"", location, words[0]);
  // The name goes to mpirun and ssh, which would take -x for an option.
  const bool is_name =
      std::isalnum(static_cast<unsigned char>(host.name[0])) || host.name[0] == '[' || host.name[0] == ':';
  if (!is_name || host.name.find_first_not_of(kNameCharacters) != std::string::npos)
    throw user_error("{}: \"{}\": not the name or address of a host; write e.g. \"node1 slots=8\"", location,
                     host.name);
  int64_t max_slots = kMaxSlots;
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string key = words[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : words[i].substr(equals + 1);
    if (key == "slots")
      host.slots = parse_count(value, key, location);
    else if (key == "max_slots" || key == "max-slots")
      max_slots = parse_count(value, key, location);
    else
      throw user_error("{}: {}: unknown word; a line is a host's name, slots=N and perhaps max_slots=N{}", location,
                       key, did_you_mean(key, {"slots", "max_slots"}));
  }
  if (host.slots == 0)
    throw user_error("{}: {}: slots=N is missing: how many ranks this host takes, one for each GPU", location,
                     host.name);
  if (host.slots > max_slots)
    throw user_error("{}: slots = {}: must be at most max_slots = {}", location, host.slots, max_slots);
  return host;
}

}  // namespace

std::vector<Host> read_hostfile(const std::filesystem::path& file) {
  const std::string bytes = read_file(file, kMaxBytes);
  check_text(bytes, file.string());
  std::istringstream text(bytes);
  std::vector<Host> hosts;
  std::map<std::string, int> line_by_host;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    const std::string location = fmt::format("{}:{}", file.string(), ++number);
    const std::vector<std::string> words = split_words(line);
    if (words.empty()) continue;
    const Host host = parse_host(words, location);
    if (const auto [known_host, is_new] = line_by_host.emplace(host.name, number); !is_new)
      throw user_error("{}: {}: line {} already names this host; give all its slots there", location, host.name,
                       known_host->second);
    hosts.push_back(host);
  }
  if (hosts.empty())
    throw user_error("{}: names no host; write a line for each, e.g. \"node1 slots=8\"", file.string());
  if (const int64_t total = num_slots(hosts); total > kMaxSlots)
    throw user_error("{}: {} slots in all; at most {} are supported", file.string(), total, kMaxSlots);
  return hosts;
}

int64_t num_slots(const std::vector<Host>& hosts) {
  int64_t total = 0;
  for (const Host& host : hosts) total += host.slots;
  return total;
}

}  // namespace roll
