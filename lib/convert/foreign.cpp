#include "convert/foreign.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "config/yaml.h"

namespace roll {

namespace {

// Variables of variables could grow without end.
constexpr size_t kLongestWord = 64 << 10, kMostBytes = 4 << 20;

void flatten(const Node& node, const std::string& path, std::vector<ForeignKey>& keys) {
  if (node.kind != Node::Kind::kMap) {
    keys.push_back({path, node.kind == Node::Kind::kScalar ? node.text : flow_text(node), node.place.text()});
    return;
  }
  for (const MapEntry& entry : node.map) flatten(entry.value, path.empty() ? entry.key : path + "." + entry.key, keys);
}

struct Word {
  std::string text;
  int line = 1;
  bool is_quoted = false;
};

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return false;
  return true;
}

/// The words of a whole script: quotes and comments as the shell has them, the words of arrays without their
/// parentheses. An empty word without quotes ends a command, or an array.
class ShellWords {
 public:
  explicit ShellWords(std::string_view text) : text_(text) {}

  std::vector<Word> all() {
    for (; at_ < text_.size(); ++at_) take(text_[at_]);
    end_word();
    return std::move(words_);
  }

 private:
  void take(char c) {
    if (c == '\n') ++line_;
    if (quote_ != 0) {
      if (c == quote_)
        quote_ = 0;
      else
        word_.text += c;
    } else if (c == '\'' || c == '"') {
      quote_ = c, word_.is_quoted = in_word_ = true;
    } else if (c == '\\' && at_ + 1 < text_.size()) {
      if (text_[++at_] == '\n')
        ++line_;
      else
        word_.text += text_[at_], in_word_ = true;
    } else if (c == '#' && !in_word_) {
      while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    } else if (c == ';' || c == '&' || c == '|' || (c == '\n' && !in_array_)) {
      end_command();
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      end_word();
    } else if (c == '(' && word_.text.ends_with('=')) {
      word_ = {}, in_word_ = false, in_array_ = true;  // NAME=( ... ), over several lines
    } else if (c == ')' && in_array_ && !is_in_expansion()) {
      end_command();
      in_array_ = false;
    } else {
      word_.text += c, in_word_ = true;
    }
  }
  bool is_in_expansion() const {
    return word_.text.find("$(") != std::string::npos || word_.text.find("list(") != std::string::npos;
  }
  void end_word() {
    if (in_word_) words_.push_back({word_.text, line_, word_.is_quoted});
    word_ = {}, in_word_ = false;
  }
  /// What follows is no value of the last flag.
  void end_command() {
    end_word();
    words_.push_back({"", line_, false});
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  char quote_ = 0;
  bool in_word_ = false, in_array_ = false;
  Word word_;
  std::vector<Word> words_;
};

/// A variable that the script leaves to the environment, as a configuration asks for it.
std::string from_environment(const std::string& name) {
  return "${oc.env:" + name + "}";
}

/// `text` with $NAME, ${NAME} and ${NAME:-default} filled in from what the script set before; what it did not set, the
/// configuration takes from the environment. Cut once it is too long.
std::string filled(const std::string& text, const std::map<std::string, std::string>& variables) {
  std::string result;
  for (size_t i = 0; i < text.size() && result.size() <= kLongestWord; ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const bool has_brace = text[i + 1] == '{';
    const size_t begin = i + (has_brace ? 2 : 1);
    size_t end = begin;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    const auto known = variables.find(text.substr(begin, end - begin));
    const size_t close = has_brace ? text.find('}', end) : end - 1;
    if (close == std::string::npos || end == begin) {
      result += text[i];
      continue;
    }
    const bool has_default = has_brace && text.compare(end, 2, ":-") == 0;
    if (known != variables.end())
      result += known->second;
    else if (has_default)
      result += text.substr(end + 2, close - end - 2);
    else
      result += is_name(text.substr(begin, end - begin)) ? from_environment(text.substr(begin, end - begin))
                                                         : text.substr(i, close + 1 - i);
    i = close;
  }
  return result;
}

bool is_flag(const Word& word) {
  return word.text.size() > 2 && word.text.starts_with("--") && std::isalpha(static_cast<unsigned char>(word.text[2]));
}

/// "a.b=c", perhaps with Hydra's + or ++ before it.
bool is_override(const std::string& text) {
  const size_t equals = text.find('=');
  const size_t begin = text.find_first_not_of('+');
  if (equals == std::string::npos || begin == std::string::npos || begin >= equals) return false;
  const std::string key = text.substr(begin, equals - begin);
  return key.find('.') != std::string::npos && std::isalpha(static_cast<unsigned char>(key[0])) &&
         key.find_first_of("/:$-") == std::string::npos;
}

}  // namespace

std::vector<ForeignKey> keys_of_yaml(std::string_view text, const std::string& origin) {
  const Node tree = parse_yaml(text, origin);
  if (tree.kind != Node::Kind::kMap)
    throw user_error("{}: {} where a mapping of keys is expected", origin, describe(tree));
  std::vector<ForeignKey> keys;
  flatten(tree, "", keys);
  return keys;
}

std::vector<ForeignKey> keys_of_script(std::string_view text, const std::string& origin) {
  check_text(text, origin);
  std::vector<ForeignKey> keys;
  std::map<std::string, std::string> variables;
  bool takes_values = false;  // the last flag may
  size_t num_bytes = 0;
  for (Word word : ShellWords(text).all()) {
    if (word.text.empty() && !word.is_quoted) {
      takes_values = false;
      continue;
    }
    word.text = filled(word.text, variables);
    if (word.text.size() > kLongestWord || (num_bytes += word.text.size()) > kMostBytes)
      throw user_error(
          "{}:{}: more than {} KB in a word, or {} MB in all, once variables are filled in; this is not a "
          "script that starts a training",
          origin, word.line, kLongestWord >> 10, kMostBytes >> 20);
    const size_t equals = word.text.find('=');
    const std::string place = fmt::format("{}:{}", origin, word.line);
    if (is_flag(word)) {
      takes_values = equals == std::string::npos;
      keys.push_back({word.text.substr(2, takes_values ? std::string::npos : equals - 2),
                      takes_values ? "true" : word.text.substr(equals + 1), place});
    } else if (is_override(word.text)) {
      const size_t begin = word.text.find_first_not_of('+');
      keys.push_back({word.text.substr(begin, equals - begin), word.text.substr(equals + 1), place});
      takes_values = false;
    } else if (equals != std::string::npos && is_name(word.text.substr(0, equals))) {
      variables[word.text.substr(0, equals)] = word.text.substr(equals + 1);
      takes_values = false;
    } else if (takes_values) {
      std::string& value = keys.back().value;
      value = value == "true" ? word.text : value + " " + word.text;
    }
  }
  return keys;
}

}  // namespace roll
