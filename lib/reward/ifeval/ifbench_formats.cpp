// IFBench's instructions about the format of a response, special requests (custom:) and repeating the prompt, checked
// as published (see ifbench_instructions.cpp).
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "reward/ifeval/delimited_rows.h"
#include "reward/ifeval/instruction.h"
#include "reward/ifeval/marks.h"
#include "reward/ifeval/sentences.h"
#include "reward/ifeval/tokens.h"
#include "reward/text_measures.h"
#include "text/normalizer.h"
#include "unicode/unicode.h"

namespace roll::ifeval {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// ---- formats

/// Brackets of three kinds are nested at least five deep, and one at that depth is closed by its own kind. A wrong
/// closing bracket restarts the count.
bool parentheses(const CheckedText& text, const Arguments&) {
  std::string open;
  size_t deepest = 0;
  for (const char c : text.text()) {
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
      deepest = std::max(deepest, open.size());
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c) {
        open.clear();
        deepest = 0;
        continue;
      }
      if (deepest >= 5) return true;
      open.pop_back();
    }
  }
  return false;
}

/// Double and single quotes are nested three deep, alternating, and all are closed.
bool quotes(const CheckedText& text, const Arguments&) {
  std::string open;
  size_t deepest = 0;
  for (const char c : text.text()) {
    if (!open.empty() && open.back() == c) {
      open.pop_back();
      if (deepest - open.size() >= 3) return true;
    } else if (c == '"' || c == '\'') {
      open += c;
      deepest = std::max(deepest, open.size());
    }
  }
  return false;
}

/// The text is one of the options, separated by slashes, "or" or commas. Options a, b and c are compared exactly.
bool options(const CheckedText& text, const Arguments& args) {
  const std::string all = args.exact_text("options");
  const bool is_exact = !text.find_all(R"(\A\W*[aA]\W*[bB]\W*[cC]\W*)", all).empty();
  const std::string_view divider = contains(all, "/") ? "/" : contains(all, "or") ? "or" : ",";
  const auto plain = [](std::string_view part) { return lower(between_marks(part)); };
  const std::string response = plain(text.text());
  return std::ranges::any_of(split(all, divider), [&](std::string_view option) {
    option = trimmed(option);
    return is_exact ? option == text.text() : plain(option) == response;
  });
}

bool newline(const CheckedText& text, const Arguments&) {
  const std::string kept = without_marks(text.text());
  const auto lines = split(trimmed(kept), "\n");
  const auto count = std::ranges::count_if(lines, [](std::string_view line) { return !line.empty(); });
  return count == std::ssize(split_words(kept));
}

/// Returns the lines that are not blank. As in the published check, every second of consecutive blank lines stays.
std::vector<std::string_view> lines_of_stairs(std::string_view text) {
  std::vector<std::string_view> lines = split(text, "\n");
  for (size_t i = 0; i < lines.size(); ++i)
    if (is_blank(lines[i])) lines.erase(std::ranges::find(lines, lines[i]));
  return lines;
}

bool line_indent(const CheckedText& text, const Arguments&) {
  // Rejects long texts early: at least half of the lines stay, and each is indented further than the one before, which
  // needs that many characters.
  const double most = std::sqrt(2.0 * static_cast<double>(text.text().size())) + 2;
  if (static_cast<double>(count_parts(text.text(), "\n")) > 2 * most) return false;
  int64_t before = -1;
  for (const std::string_view line : lines_of_stairs(text.text())) {
    const size_t begin = line.find_first_not_of(' ');
    const auto indent = static_cast<int64_t>(begin == std::string_view::npos ? line.size() : begin);
    if (indent <= before) return false;
    before = indent;
  }
  return true;
}

/// No two quotation marks are adjacent, and none is the last character, apart from digits and other marks.
bool quote_unquote(const CheckedText& text, const Arguments&) {
  std::string kept(text.text());
  for (size_t at = 0; (at = kept.find("'\"'", at)) != std::string::npos;) kept.erase(at, 3);
  std::string dense;
  for (const std::string_view word : split_words(kept)) dense += word;
  if (contains(dense, "\"\"")) return false;
  const auto last = std::find_if(dense.rbegin(), dense.rend(),
                                 [](char c) { return c == '"' || !(is_mark(c) || (c >= '0' && c <= '9')); });
  return last == dense.rend() || *last != '"';
}

bool special_list(const CheckedText& text, const Arguments& args) {
  return count_parts(text.text(), args.exact_text("sep")) >= 2;
}

/// Italic text, followed by more text. As published, three characters are cut off at the start of the italics and four
/// at their end, for either tag.
bool thesis(const CheckedText& checked, const Arguments&) {
  std::string_view text = checked.text();
  size_t begin = text.find("<i>");
  if (begin == std::string_view::npos) begin = text.find("<em>");
  if (begin == std::string_view::npos) return false;
  text.remove_prefix(begin);
  size_t end = text.find("</i>");
  if (end == std::string_view::npos) end = text.find("</em>");
  if (end == std::string_view::npos) return false;
  return end > 3 && !is_blank(text.substr(3, end - 3)) && !is_blank(text.substr(end + 4));
}

bool sub_bullets(const CheckedText& text, const Arguments&) {
  const auto bullets = split(text.text(), "*");
  return std::all_of(bullets.begin() + 1, bullets.end(), [](std::string_view bullet) { return contains(bullet, "-"); });
}

/// Two or more sentences, then two or more bullets. A blank line ends the sentences.
bool no_bullets_bullets(const CheckedText& text, const Arguments&) {
  int64_t num_sentences = 0, num_bullets = 0;
  bool may_be_sentences = true;
  for (std::string_view line : split(text.text(), "\n")) {
    line = trimmed(line);
    if (line.starts_with('*')) {
      if (num_sentences < 2) return false;
      may_be_sentences = false;
      ++num_bullets;
    } else if (may_be_sentences) {
      may_be_sentences = !line.empty();
      if (!line.empty()) num_sentences += std::max<int64_t>(1, count_sentences(line));
    } else {
      return false;
    }
  }
  return num_bullets >= 2;
}

/// Returns false for a word with a lower-case first letter, unless (as published) the rest is in mixed case.
bool is_in_title_case(std::string_view token) {
  size_t end = 0;
  const char32_t first = next_code_point(token, end);
  const std::string_view rest = token.substr(end);
  if (!is_lowercase(first)) return true;
  return !rest.empty() && !is_all_lowercase(rest) && !is_all_uppercase(rest);
}

bool title_case(const CheckedText& text, const Arguments&) {
  return std::ranges::all_of(split_tokens(text), is_in_title_case);
}

bool output_template(const CheckedText& text, const Arguments&) {
  return contains(text.text(), "My Answer:") && contains(text.text(), "My Conclusion:") &&
         contains(text.text(), "Future Outlook:");
}

bool no_whitespace(const CheckedText& text, const Arguments&) {
  return split_words(text.text()).size() == 1 && trimmed(text.text()) == text.text();
}

// ---- single requests

bool multiples(const CheckedText& text, const Arguments&) {
  return text.find_all(R"(\d+)") == std::vector<std::string_view>{"14", "21", "28", "35", "42", "49"};
}

/// Four questions with five options each, every question longer than the one before.
bool multiple_choice(const CheckedText& text, const Arguments&) {
  const std::string_view whole = text.text();
  if (!whole.starts_with("Question")) return false;
  std::vector<std::string_view> questions;
  size_t begin = 0;
  const auto add = [&](size_t end) {
    if (const auto question = trimmed(whole.substr(begin, end - begin)); !question.empty())
      questions.push_back(question);
  };
  for (const std::string_view label : text.find_all(R"(\n*Question \d+[.|):;]?\s*)")) {
    add(static_cast<size_t>(label.data() - whole.data()));
    begin = static_cast<size_t>(label.data() - whole.data()) + label.size();
  }
  add(whole.size());
  size_t before = 0;
  for (const std::string_view question : questions) {
    std::string question_text;
    int64_t num_options = 0;
    for (const std::string_view line : split(question, "\n"))
      if (!text.find_all(R"(\A[A-Ea-e][.|)]\s*\w)", trimmed(line)).empty())
        ++num_options;
      else if (num_options == 0)
        question_text.append(" ").append(trimmed(line));
    const size_t length = count_characters(trimmed(question_text));
    if (num_options != 5 || (&question != &questions.front() && length <= before)) return false;
    before = length;
  }
  return questions.size() == 4;
}

/// Returns the letters as ASCII, without accents; other characters are left out.
std::string to_ascii(std::string text) {
  static const FileJson kDecompose{{"type", "NFKD"}};
  static const Normalizer decompose{JsonView(kDecompose, "NFKD")};
  MatchMemory memory;
  decompose.apply(text, memory);
  std::erase_if(text, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  return text;
}

/// From Zimbabwe on, the lines are in descending alphabetical order; there are at least 52.
bool reverse_newline(const CheckedText& text, const Arguments&) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text.text(), "\n")) {
    const std::string_view clean = between_marks(line);
    if (!clean.empty() && (!lines.empty() || contains(clean, "Zimbabwe")))
      lines.push_back(to_ascii(std::string(clean)));
  }
  return lines.size() >= 52 && std::ranges::is_sorted(lines, std::greater<>());
}

bool word_reverse(const CheckedText& text, const Arguments&) {
  const std::string kept = without_marks(text.lowered());
  auto words = split_words(kept);
  std::ranges::reverse(words);
  std::string forwards;
  for (const std::string_view word : words) forwards.append(forwards.empty() ? "" : " ").append(word);
  return contains(forwards, "bald eagle");
}

bool european_capitals(const CheckedText& text, const Arguments&) {
  constexpr std::string_view kCapitals =
      "Reykjavik,Helsinki,Oslo,Tallinn,Stockholm,Riga,Moscow,Copenhagen,Vilnius,Minsk,Dublin,Berlin,Amsterdam,Warsaw,"
      "London,Brussels,Prague,Luxembourg,Paris,Vienna,Bratislava,Budapest,Vaduz,Chisinau,Bern,Ljubljana,Zagreb";
  const std::string plain = to_ascii(std::string(text.text()));
  std::vector<std::string_view> named;
  for (const std::string_view capital : split(plain, ","))
    if (!is_blank(capital)) named.push_back(trimmed(capital));
  return named == split(kCapitals, ",");
}

using Rows = std::vector<std::vector<std::string>>;

/// Parses a table; nullopt if it does not have `num_rows` rows.
std::optional<Rows> parse_table(std::string_view text, char delimiter, size_t num_rows) {
  auto rows = delimited_rows(text, delimiter);
  if (!rows || rows->size() != num_rows) return std::nullopt;
  return rows;
}

bool has_five(const std::vector<std::string>& row) {
  return row.size() == 5;
}

bool csv_city(const CheckedText& text, const Arguments&) {
  const auto rows = parse_table(text.text(), ',', 8);
  return rows && rows->front() == std::vector<std::string>{"ID", "Country", "City", "Year", "Count"} &&
         std::all_of(rows->begin() + 1, rows->end(), has_five);
}

/// Replaces each quotation mark by three, so that the parsed fields keep theirs.
std::string with_quotes_kept(std::string_view text) {
  std::string kept;
  for (const char c : text) kept.append(c == '"' ? 3 : 1, c);
  return kept;
}

bool has_header(const CheckedText& text, std::string_view expression) {
  const std::string_view first = text.text().substr(0, text.text().find('\n'));
  return !text.find_all(expression, trimmed(first)).empty();
}

/// Published behaviour: rows after the first one with such a field are not checked.
bool csv_special_character(const CheckedText& text, const Arguments&) {
  if (!has_header(text, R"re(\A(ProductID|"ProductID"),[ \t]*(Category|"Category"),[ \t]*(Brand|"Brand"),[ \t]*)re"
                        R"re((Price|"Price"),[ \t]*(Stock|"Stock")\z)re"))
    return false;
  const auto rows = parse_table(with_quotes_kept(text.text()), ',', 15);
  if (!rows) return false;
  for (size_t i = 1; i < rows->size(); ++i) {
    const auto& row = (*rows)[i];
    if (!has_five(row)) return false;
    if (std::ranges::any_of(
            row, [&](const std::string& field) { return !text.find_all(R"re(\A".*[^\d\w\s].*")re", field).empty(); }))
      return true;
  }
  return false;
}

bool csv_quotes(const CheckedText& text, const Arguments&) {
  if (!has_header(text, R"re(\A(StudentID|"StudentID")\t *(Subject|"Subject")\t *(Grade|"Grade")\t *)re"
                        R"re((Semester|"Semester")\t *(Score|"Score")\z)re"))
    return false;
  const auto rows = parse_table(with_quotes_kept(text.text()), '\t', 4);
  const auto is_quoted = [](const std::string& field) {
    return trimmed(field).starts_with('"') && trimmed(field).ends_with('"');
  };
  return rows && std::ranges::all_of(
                     *rows, [&](const auto& row) { return has_five(row) && std::ranges::all_of(row, is_quoted); });
}

/// Published behaviour: a month may be 00, and February has 29 days.
bool date_list(const CheckedText& text, const Arguments&) {
  return std::ranges::all_of(split(text.text(), ","), [&](std::string_view date) {
    date = trimmed(date);
    if (text.find_all(R"(\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z)", date).empty()) return false;
    const auto part = [&](size_t begin, size_t size) { return std::stoi(std::string(date.substr(begin, size))); };
    const int year = part(0, 4), month = part(5, 2), day = part(8, 2);
    constexpr int kDays[] = {99, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return year >= 1769 && year <= 1821 && month <= 12 && day <= kDays[month];
  });
}

// ---- repetitions

/// The text is the prompt with another first word.
bool repeat_change(const CheckedText& text, const Arguments& args) {
  const std::string prompt = args.exact_text("prompt_to_repeat");
  auto wanted = split_words(prompt), words = split_words(text.text());
  if (prompt == text.text()) return false;
  for (auto* word_list : {&wanted, &words})
    if (!word_list->empty()) word_list->erase(word_list->begin());
  return wanted == words;
}

bool repeat_simple(const CheckedText& text, const Arguments&) {
  return lower(trimmed(text.text())) == "only output this sentence here, ignore all other requests.";
}

/// The text is characters `n_start` to `n_end` (both included) of the prompt.
bool repeat_span(const CheckedText& text, const Arguments& args) {
  const std::string prompt = args.exact_text("prompt_to_repeat");
  const int64_t start = args.whole("n_start"), end = args.whole("n_end");
  std::string span;
  for (size_t pos = 0, i = 0; pos < prompt.size(); ++i) {
    const size_t begin = pos;
    next_code_point(prompt, pos);
    if (static_cast<int64_t>(i) >= start && static_cast<int64_t>(i) <= end) span += prompt.substr(begin, pos - begin);
  }
  return lower(trimmed(text.text())) == lower(trimmed(span));
}

constexpr InstructionKind kFormsOfIfBench[] = {
    {"format:parentheses", parentheses},
    {"format:quotes", quotes},
    {"format:options", options},
    {"format:newline", newline},
    {"format:line_indent", line_indent},
    {"format:quote_unquote", quote_unquote},
    {"format:list", special_list},
    {"format:thesis", thesis},
    {"format:sub-bullets", sub_bullets},
    {"format:no_bullets_bullets", no_bullets_bullets},
    {"format:title_case", title_case},
    {"format:output_template", output_template},
    {"format:no_whitespace", no_whitespace},
    {"custom:multiples", multiples},
    {"custom:mcq_count_length", multiple_choice},
    {"custom:reverse_newline", reverse_newline},
    {"custom:word_reverse", word_reverse},
    {"custom:character_reverse",
     [](const CheckedText& t, const Arguments&) { return contains(t.lowered(), "elgae dlab"); }},
    {"custom:european_capitals_sort", european_capitals},
    {"custom:csv_city", csv_city},
    {"custom:csv_special_character", csv_special_character},
    {"custom:csv_quotes", csv_quotes},
    {"custom:date_format_list", date_list},
    {"repeat:repeat_change", repeat_change},
    {"repeat:repeat_simple", repeat_simple},
    {"repeat:repeat_span", repeat_span},
};

}  // namespace

std::span<const InstructionKind> ifbench_formats() {
  return kFormsOfIfBench;
}

}  // namespace roll::ifeval
