#include "config/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/utf8.h"
#include "config/scalar.h"
#include "config/yaml_cause.h"

namespace roll {

namespace {

constexpr size_t kMaxBytes = 2 << 20;
constexpr size_t kMaxNodes = 100000;
constexpr size_t kMaxDepth = 100;

class Builder : public YAML::EventHandler {
 public:
  Builder(const std::string& origin, bool single_line)
      : origin_(std::make_shared<const std::string>(origin)), single_line_(single_line) {}

  Node take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Node node;
    // For a missing value, the parser's mark is that of the next token, so the key's place is used.
    node.place = !frames_.empty() && frames_.back().key ? frames_.back().key_place : place(mark);
    add(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw user_error("{}: an alias inside of the value that it refers to; remove it", place(mark).text());
    count(found->second.size(), place(mark));
    add(found->second, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    Node node;
    node.quoted = tag == "!" || tag == "tag:yaml.org,2002:str";
    node.kind = !node.quoted && is_null_word(value) ? Node::Kind::kNull : Node::Kind::kScalar;
    if (node.kind == Node::Kind::kScalar) node.text = value;
    node.place = place(mark);
    count(1, place(mark));
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override {
    Frame& frame = frames_.back();
    for (const Node& merged : frame.merged) merge(frame, merged);
    close();
  }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor = 0;
    std::optional<std::string> key;  // kMap: key without its value yet
    Place key_place;
    std::map<std::string, Place> keys;  // kMap: keys so far
    std::vector<Node> merged;           // kMap: values of <<
  };

  Place place(const YAML::Mark& mark) const {
    return single_line_ ? Place{origin_, 0, 0} : Place{origin_, mark.line + 1, mark.column + 1};
  }

  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    static const std::string kCore = "tag:yaml.org,2002:";
    if (tag.empty() || tag == "?" || tag == "!") return;
    for (const char* known : {"str", "int", "float", "bool", "null", "map", "seq"})
      if (tag == kCore + known) return;
    throw user_error("{}: unknown tag {}; remove it", place(mark).text(), tag);
  }

  void count(size_t nodes, const Place& place) {
    num_nodes_ += nodes;
    if (num_nodes_ > kMaxNodes)
      throw user_error(
          "{}: more than {} values once aliases are expanded (each alias, *name, repeats a whole value); use fewer "
          "aliases, or check that this is the right file",
          place.text(), kMaxNodes);
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    check_tag(mark, tag);
    count(1, place(mark));
    if (frames_.size() >= kMaxDepth)
      throw user_error("{}: more than {} levels deep; this is not a configuration", place(mark).text(), kMaxDepth);
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = place(mark);
    frame.anchor = anchor;
    frames_.push_back(std::move(frame));
  }

  void close() {
    Frame frame = std::move(frames_.back());
    frames_.pop_back();
    add(std::move(frame.node), frame.anchor);
  }

  void add(Node node, YAML::anchor_t anchor) {
    if (anchor) {
      count(node.size(), node.place);
      anchors_[anchor] = node;
    }
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (frame.node.kind == Node::Kind::kList)
      frame.node.list.push_back(std::move(node));
    else if (!frame.key)
      set_key(frame, node);
    else
      set_value(frame, std::move(node));
  }

  static void set_key(Frame& frame, const Node& node) {
    if (node.kind != Node::Kind::kScalar)
      throw user_error("{}: {} where a key is needed", node.place.text(), describe(node));
    const auto [known, is_new] = frame.keys.emplace(node.text, node.place);
    if (!is_new && node.text != "<<")
      throw user_error("{}: {}: given twice, first at {}; keep one", node.place.text(), node.text,
                       known->second.text());
    frame.key = node.text;
    frame.key_place = node.place;
  }

  static void set_value(Frame& frame, Node node) {
    const bool is_merge = *frame.key == "<<";
    if (!is_merge)
      frame.node.map.push_back({*frame.key, frame.key_place, std::move(node)});
    else if (node.kind == Node::Kind::kList)
      frame.merged.insert(frame.merged.end(), node.list.begin(), node.list.end());
    else
      frame.merged.push_back(std::move(node));
    frame.key.reset();
  }

  /// Merges `from` (YAML's <<): existing keys of `into`, or of an earlier merge, win.
  static void merge(Frame& into, const Node& from) {
    if (from.kind != Node::Kind::kMap)
      throw user_error("{}: <<: {} where a mapping is needed", from.place.text(), describe(from));
    for (const MapEntry& entry : from.map)
      if (into.keys.emplace(entry.key, entry.place).second) into.node.map.push_back(entry);
  }

  std::shared_ptr<const std::string> origin_;
  bool single_line_;
  Node root_;
  std::vector<Frame> frames_;
  std::map<YAML::anchor_t, Node> anchors_;
  size_t num_nodes_ = 0;
};

/// Throws for deeply nested flow collections, on which yaml-cpp spends quadratic time.
void check_flow_depth(std::string_view text, const std::string& origin) {
  size_t depth = 0;
  int line = 1;
  for (const char c : text) {
    line += c == '\n';
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > 10 * kMaxDepth)
      throw user_error("{}:{}: more than {} open brackets; this is not a configuration", origin, line, 10 * kMaxDepth);
  }
}

UserError syntax_error(std::string_view text, const std::string& origin, bool single_line, const YAML::Exception& e) {
  if (e.mark.is_null()) return user_error("{}: not valid YAML: {}", origin, e.msg);
  const YamlCause cause = yaml_cause(text, e.mark.line + 1, e.mark.column + 1, e.msg);
  if (single_line) return user_error("{}: not valid YAML: {}", origin, cause.words);
  return user_error("{}:{}:{}: not valid YAML: {}{}", origin, cause.line, cause.column, cause.words,
                    pointed_line(text, cause.line, cause.column));
}

}  // namespace

void check_text(std::string_view text, const std::string& origin) {
  if (text.size() > kMaxBytes)
    throw user_error("{}: {} MB; a configuration is smaller than {} MB", origin, text.size() >> 20, kMaxBytes >> 20);
  int line = 1, column = 1;
  for (size_t i = 0, num_bytes = 0; i < text.size(); i += num_bytes) {
    num_bytes = character_bytes(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (num_bytes == 0)
      throw user_error("{}:{}:{}: byte 0x{:02x} is no UTF-8; save the file as UTF-8", origin, line, column, byte);
    if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t')
      throw user_error("{}:{}:{}: byte 0x{:02x} is a control character; this is not a text file", origin, line, column,
                       byte);
    column = byte == '\n' ? 1 : column + 1;
    line += byte == '\n';
  }
}

Node parse_yaml(std::string_view text, const std::string& origin, bool single_line) {
  check_text(text, origin);
  check_flow_depth(text, origin);
  Builder builder(origin, single_line);
  try {
    // yaml-cpp accepts a quote that only the end of the file closes; an appended document mark makes it an error.
    std::istringstream stream{std::string(text) + (text.ends_with('\n') ? "---\n" : "\n---\n")};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    Node root = builder.take();
    Builder second_builder(origin, single_line);
    if (!parser.HandleNextDocument(second_builder)) return root;
    if (const Node second_root = second_builder.take(); second_root.kind != Node::Kind::kNull)
      throw user_error(
          "{}: a second document begins here, after a ---; a configuration is one document: remove the second",
          second_root.place.text());
    return root;
  } catch (const YAML::Exception& e) {
    throw syntax_error(text, origin, single_line, e);
  }
}

}  // namespace roll
