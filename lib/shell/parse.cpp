#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.h"
#include "shell/syntax.h"

namespace roll::shell {

namespace {

constexpr int kDeepest = 60;  // of commands in commands

bool ends_word(char c) {
  return is_blank(c) || c == '\n' || std::string_view(";&|()<>").find(c) != std::string_view::npos;
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& origin, int file, int first_line)
      : text_(text), origin_(origin), file_(file), line_(first_line) {}

  NodePtr whole() {
    NodePtr script = sequence();
    if (at_ < text_.size()) throw error(std::string("'") + text_[at_] + "' where a command is expected");
    return script;
  }

 private:
  UserError error(const std::string& what) const {
    return user_error("{}:{}: {}: no shell would read this", origin_, line_, what);
  }
  Place here() const { return {file_, line_}; }
  bool is_at(std::string_view sign) const { return text_.substr(at_, sign.size()) == sign; }
  void go_to(size_t end) {
    line_ += static_cast<int>(
        std::count(text_.begin() + static_cast<ptrdiff_t>(at_), text_.begin() + static_cast<ptrdiff_t>(end), '\n'));
    at_ = end;
  }
  bool take(std::string_view sign) {
    if (!is_at(sign)) return false;
    go_to(at_ + sign.size());
    return true;
  }

  /// Blanks, comments, and ends of lines that a backslash takes away.
  void skip_blanks() {
    for (;; go_to(at_ + 1)) {
      while (take("\\\n")) {
      }
      if (at_ == text_.size()) return;
      if (text_[at_] == '#') return at_ = std::min(text_.find('\n', at_), text_.size()), void();
      if (!is_blank(text_[at_])) return;
    }
  }
  void skip_lines() {
    for (skip_blanks(); is_at("\n"); skip_blanks()) end_line();
  }
  /// Here-documents stand below the line that asks for them.
  void end_line() {
    go_to(at_ + 1);
    for (const Redirect& redirect : std::exchange(documents_, {})) {
      const bool strips = redirect.op == "<<-";
      for (bool ended = false; !ended && at_ < text_.size();) {
        const size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        if (strips) line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        ended = line == redirect.target.text;
        if (!ended) redirect.body->append(line).append("\n");
        go_to(std::min(end + 1, text_.size()));
      }
    }
  }

  /// The next word, where it has only letters and such as `{`; it is not taken.
  std::string_view plain_word() const {
    size_t end = at_;
    while (end < text_.size() && !ends_word(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }
  bool take_word(std::string_view word) {
    skip_blanks();
    if (plain_word() != word) return false;
    go_to(at_ + word.size());
    return true;
  }
  void expect(std::string_view word) {
    skip_lines();
    if (!take_word(word)) throw error(fmt::format("`{}` is missing", word));
  }

  Word word(bool may_be_array = false) {
    Word word{"", here()};
    const size_t begin = at_;
    while (at_ < text_.size() && !ends_word(text_[at_])) {
      const char c = text_[at_];
      if (c == '\\')
        go_to(std::min(at_ + 2, text_.size()));
      else if (c == '\'' || c == '"')
        go_to(closed(end_of_quotes(text_, at_), c));
      else if (c == '`')
        go_to(closed(end_of_backticks(text_, at_), c));
      else
        go_to(c == '$' ? end_of_dollar(text_, at_) : at_ + 1);
      const std::string_view so_far = text_.substr(begin, at_ - begin);
      if (may_be_array && so_far.back() == '=' && is_at("(") && assignment_at(so_far) == so_far.size() - 1) {
        word.text = so_far;
        return elements(word);
      }
    }
    if (at_ == begin && (is_at("<(") || is_at(">("))) go_to(end_of_brackets(text_, at_ + 1, '(', ')'));
    word.text = text_.substr(begin, at_ - begin);
    return word;
  }
  size_t closed(size_t end, char quote) const {
    if (end == text_.size() && (end - at_ < 2 || text_[end - 1] != quote))
      throw error(std::string("a quote ") + quote + " is not closed");
    return end;
  }
  Word elements(Word array) {
    array.is_array = true;
    go_to(at_ + 1);
    for (skip_lines(); !is_at(")"); skip_lines()) {
      if (at_ == text_.size()) throw error("`)` of an array is missing");
      Word element = word();
      if (element.text.empty()) throw error(std::string("'") + text_[at_] + "' in an array");
      array.elements.push_back(std::move(element));
    }
    go_to(at_ + 1);
    return array;
  }

  bool take_redirect(Node& node) {
    size_t digits = at_;
    while (digits < text_.size() && std::isdigit(static_cast<unsigned char>(text_[digits]))) ++digits;
    static constexpr std::array kSigns{"&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", "<", ">>", ">&", ">|", ">"};
    const std::string_view rest = text_.substr(digits);
    if (rest.starts_with("<(") || rest.starts_with(">(")) return false;
    const auto sign = std::ranges::find_if(kSigns, [&](const char* each) { return rest.starts_with(each); });
    if (sign == kSigns.end() || (rest[0] == '&' && digits > at_)) return false;
    Redirect redirect{std::string(text_.substr(at_, digits - at_)) + *sign, {}, nullptr};
    go_to(digits + std::string_view(*sign).size());
    skip_blanks();
    redirect.target = word();
    if (!redirect.op.ends_with("<<<") && (redirect.op.ends_with("<<") || redirect.op.ends_with("<<-"))) {
      const std::string quoted = redirect.target.text;
      std::erase_if(redirect.target.text, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
      redirect.expands = quoted == redirect.target.text;
      redirect.body = std::make_shared<std::string>();
      documents_.push_back(redirect);
    }
    node.redirects.push_back(std::move(redirect));
    return true;
  }

  /// Commands up to the end, or to a word or sign that ends a part.
  NodePtr sequence() {
    if (++depth_ > kDeepest) throw error("commands are nested too deep");
    auto node = std::make_shared<Node>(Node{Kind::kSequence, here()});
    for (skip_lines(); at_ < text_.size() && !ends_part(); skip_lines()) {
      node->parts.push_back(and_or());
      skip_blanks();
      if (is_at(";;") || is_at(";&")) break;
      if (!take(";") && !take("&") && !is_at("\n") && at_ < text_.size() && !is_at(")"))
        throw error(fmt::format("`{}` behind a command", std::string(1, text_[at_])));
    }
    --depth_;
    return node;
  }
  bool ends_part() const {
    static constexpr std::array kWords{"then", "do", "done", "fi", "elif", "else", "esac", "}"};
    return is_at(")") || is_at(";;") || is_at(";&") || std::ranges::find(kWords, plain_word()) != kWords.end();
  }

  NodePtr and_or() {
    auto node = std::make_shared<Node>(Node{Kind::kAndOr, here()});
    for (;;) {
      node->parts.push_back(pipeline());
      skip_blanks();
      const bool is_and = take("&&");
      if (!is_and && !take("||")) break;
      node->signs += is_and ? '&' : '|';
      skip_lines();
    }
    return node->parts.size() == 1 ? node->parts[0] : node;
  }

  NodePtr pipeline() {
    auto node = std::make_shared<Node>(Node{Kind::kPipeline, here()});
    bool negates = false;
    while (take_word("!")) negates = !negates;
    take_word("time");
    for (;;) {
      node->parts.push_back(command());
      skip_blanks();
      if (is_at("||") || (!take("|&") && !take("|"))) break;
      skip_lines();
    }
    NodePtr all = node->parts.size() == 1 ? node->parts[0] : node;
    return negates ? std::make_shared<Node>(Node{Kind::kNot, node->place, {}, {all}}) : all;
  }

  NodePtr command() {
    skip_blanks();
    auto node = std::make_shared<Node>(Node{Kind::kCommand, here()});
    if (!compound(*node)) simple(*node);
    for (skip_blanks(); node->kind != Kind::kCommand && take_redirect(*node); skip_blanks()) {
    }
    return node;
  }

  bool compound(Node& node) {
    if (is_at("((") && take_arithmetic(node)) return true;
    if (take("(")) return node.kind = Kind::kSubshell, bracketed(node, ")"), true;
    if (take_word("{")) return node.kind = Kind::kSequence, bracketed(node, "}"), true;
    if (take_word("if")) return branches(node), true;
    if (take_word("while")) return loop(node, Kind::kWhile), true;
    if (take_word("until")) return loop(node, Kind::kUntil), true;
    if (take_word("for")) return for_loop(node), true;
    if (take_word("case")) return cases(node), true;
    if (take_word("[[")) return test(node), true;
    if (take_word("function")) {
      skip_blanks();
      node.words = {word()};
      skip_blanks();
      if (take("(")) expect_sign(")");
      return function(node), true;
    }
    return false;
  }
  void expect_sign(std::string_view sign) {
    skip_blanks();
    if (!take(sign)) throw error(fmt::format("`{}` is missing", sign));
  }
  void bracketed(Node& node, std::string_view end) {
    node.parts = {sequence()};
    if (!take(end)) throw error(fmt::format("`{}` is missing", end));
  }
  bool take_arithmetic(Node& node) {
    const size_t end = end_of_brackets(text_, at_, '(', ')');
    if (end - at_ < 4 || text_[end - 2] != ')') return false;
    node.kind = Kind::kArithmetic;
    node.words = {{std::string(text_.substr(at_ + 2, end - at_ - 4)), here()}};
    go_to(end);
    return true;
  }
  void branches(Node& node) {
    node.kind = Kind::kIf;
    do {
      node.parts.push_back(sequence());
      expect("then");
      node.parts.push_back(sequence());
    } while (take_word("elif"));
    if (take_word("else")) node.parts.push_back(sequence());
    expect("fi");
  }
  void loop(Node& node, Kind kind) {
    node.kind = kind;
    node.parts.push_back(sequence());
    body(node);
  }
  void body(Node& node) {
    expect("do");
    node.parts.push_back(sequence());
    expect("done");
  }
  void for_loop(Node& node) {
    node.kind = Kind::kFor;
    skip_blanks();
    if (is_at("((") && take_arithmetic(node)) {
      node.kind = Kind::kCountedFor;
      std::string rest = node.words[0].text;
      node.words.clear();
      for (int i = 0; i < 3; ++i) {
        const size_t end = std::min(rest.find(';'), rest.size());
        node.words.push_back({rest.substr(0, end), node.place});
        rest.erase(0, std::min(end + 1, rest.size()));
      }
    } else {
      node.words = {word()};
      if (!is_name(node.words[0].text)) throw error("`for` wants a name");
      skip_lines();
      node.over_arguments = !take_word("in");
      for (skip_blanks(); !node.over_arguments && at_ < text_.size() && !ends_word(text_[at_]); skip_blanks())
        node.words.push_back(word());
    }
    skip_blanks();
    take(";");
    skip_lines();
    if (!is_at("{")) return body(node);
    go_to(at_ + 1);
    node.parts = {sequence()};
    expect("}");
  }
  void cases(Node& node) {
    node.kind = Kind::kCase;
    skip_blanks();
    node.words = {word()};
    expect("in");
    for (skip_lines(); !take_word("esac"); skip_lines()) {
      if (at_ == text_.size()) throw error("`esac` is missing");
      take("(");
      std::vector<Word> patterns;
      do {
        skip_blanks();
        patterns.push_back(word());
        skip_blanks();
      } while (take("|"));
      expect_sign(")");
      node.patterns.push_back(std::move(patterns));
      node.parts.push_back(sequence());
      if (!take(";;&") && !take(";;") && !take(";&") && !is_esac()) throw error("`;;` is missing");
    }
  }
  bool is_esac() {
    skip_lines();
    return plain_word() == "esac";
  }
  void test(Node& node) {
    node.kind = Kind::kTest;
    for (skip_lines(); !take_word("]]"); skip_lines()) {
      if (at_ == text_.size()) throw error("`]]` is missing");
      static constexpr std::array kSigns{"&&", "||", "(", ")", "<", ">"};
      const auto sign = std::ranges::find_if(kSigns, [&](const char* each) { return is_at(each); });
      const bool is_pattern = !node.words.empty() && node.words.back().text == "=~";
      if (sign != kSigns.end() && !is_pattern) {
        node.words.push_back({*sign, here()});
        go_to(at_ + node.words.back().text.size());
      } else {
        node.words.push_back(is_pattern ? pattern() : word());
        if (node.words.back().text.empty()) throw error("in [[ ]]");
      }
    }
  }
  /// Of =~: up to a blank that no bracket holds.
  Word pattern() {
    const size_t begin = at_;
    for (size_t end = at_; end < text_.size() && !is_blank(text_[end]) && text_[end] != '\n';)
      go_to(end = text_[end] == '(' ? end_of_brackets(text_, end, '(', ')') : end + 1);
    return {std::string(text_.substr(begin, at_ - begin)), here()};
  }
  void function(Node& node) {
    node.kind = Kind::kFunction;
    skip_lines();
    if (++depth_ > kDeepest) throw error("commands are nested too deep");
    node.parts = {command()};
    --depth_;
  }
  void simple(Node& node) {
    for (skip_blanks(); at_ < text_.size(); skip_blanks()) {
      if (take_redirect(node)) continue;
      if (ends_word(text_[at_]) && !is_at("<(") && !is_at(">(")) break;
      node.words.push_back(word(/*may_be_array=*/true));
      skip_blanks();
      if (node.words.size() == 1 && is_at("(") && !node.words[0].is_array) {
        go_to(at_ + 1);
        expect_sign(")");
        return function(node);
      }
    }
    if (node.words.empty() && node.redirects.empty())
      throw error(at_ == text_.size() ? "it ends where a command is expected"
                                      : fmt::format("`{}` where a command is expected", std::string(1, text_[at_])));
  }

  std::string_view text_;
  const std::string& origin_;
  int file_;
  int line_;
  size_t at_ = 0;
  int depth_ = 0;
  std::vector<Redirect> documents_;
};

}  // namespace

NodePtr parse(std::string_view text, const std::string& origin, int file, int first_line) {
  return Parser(text, origin, file, first_line).whole();
}

}  // namespace roll::shell
