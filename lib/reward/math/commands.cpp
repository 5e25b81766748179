#include "reward/math/commands.h"

#include <set>
#include <sstream>

namespace roll::math {

namespace {

// Formatting commands.
const std::set<std::string, std::less<>> kLooks = {
    "left",         "right",       "mleft",  "mright",   "big",       "Big",   "bigg",      "Bigg",     "bigl",
    "bigr",         "Bigl",        "Bigr",   "biggl",    "biggr",     "Biggl", "Biggr",     "quad",     "qquad",
    "displaystyle", "textstyle",   "limits", "nolimits", "middle",    "hfill", "rm",        "it",       "bf",
    "cal",          "scriptstyle", "tiny",   "small",    "large",     "Large", "thinspace", "medspace", "thickspace",
    "enspace",      "nobreak",     "hspace", "phantom",  "mathstrut", "strut", "boldmath"};

// Commands whose braces hold words.
const std::set<std::string, std::less<>> kWords = {
    "text",   "mbox",   "textrm",       "textbf",     "textit", "texttt",     "mathrm", "mathit", "mathbf", "mathsf",
    "mathtt", "textsf", "operatorname", "textnormal", "hbox",   "boldsymbol", "bm",     "pmb",    "emph",   "textsc"};

// A command or sign, followed by its synonyms.
const WordTable kSynonyms = by_word(
    "frac dfrac tfrac cfrac, binom dbinom tbinom, le leq leqslant leqq, ge geq geqslant geqq, ne neq, < lt, "
    "> gt, \\{ lbrace, \\} rbrace, | lvert rvert vert Vert lVert rVert |, [ lbrack, ] rbrack, "
    "cdot times ast star bullet, / div, emptyset varnothing, setminus smallsetminus backslash, circ degree, "
    "infty infin infinity, ( lparen, ) rparen, : colon, phi varphi, epsilon varepsilon, theta vartheta, "
    "arcsin asin, arccos acos, arctan atan arctg, ldots dots cdots, % percent, mathbbR R reals, mathbbZ Z, "
    "mathbbN N, mathbbQ Q, mathbbC C, approx approxeq thickapprox, tan tg, cot ctg cotg");

// Words that plain text uses for commands.
const std::set<std::string, std::less<>> kPlainCommands = {
    "sin",  "cos",  "tan",   "cot",     "sec", "csc",   "arcsin", "arccos", "arctan", "asin",     "acos",
    "atan", "sinh", "cosh",  "tanh",    "log", "ln",    "exp",    "sqrt",   "pi",     "infinity", "infty",
    "gcd",  "lcm",  "min",   "max",     "mod", "alpha", "beta",   "gamma",  "theta",  "lambda",   "phi",
    "frac", "cdot", "times", "percent", "cis", "tg",    "ctg",    "arctg"};

const WordTable kUnicode = {{"π", "pi"},    {"∞", "infty"},   {"√", "sqrt"},     {"≤", "le"},      {"≥", "ge"},
                            {"≠", "ne"},    {"×", "cdot"},    {"÷", "/"},        {"·", "cdot"},    {"∪", "cup"},
                            {"∩", "cap"},   {"∈", "in"},      {"∅", "emptyset"}, {"°", "circ"},    {"±", "pm"},
                            {"−", "-"},     {"–", "-"},       {"≈", "approx"},   {"θ", "theta"},   {"α", "alpha"},
                            {"β", "beta"},  {"⋅", "cdot"},    {"≡", "equiv"},    {"φ", "phi"},     {"λ", "lambda"},
                            {"′", "'"},     {"“", ""},        {"”", ""},         {"ℝ", "mathbbR"}, {"ℤ", "mathbbZ"},
                            {"…", "ldots"}, {"ℚ", "mathbbQ"}, {"ℕ", "mathbbN"},  {"ℂ", "mathbbC"}, {" ", " "}};

}  // namespace

WordTable by_word(const char* rows) {
  WordTable table;
  std::istringstream in(rows);
  for (std::string row; std::getline(in, row, ',');) {
    std::istringstream words(row);
    std::string meaning;
    words >> meaning;
    for (std::string word; words >> word;) table.emplace(word, meaning);
  }
  return table;
}

bool changes_looks(std::string_view name) {
  return kLooks.contains(name);
}

bool holds_words(std::string_view name) {
  return kWords.contains(name);
}

bool is_plain_command(std::string_view word) {
  return kPlainCommands.contains(word);
}

std::string known_command(const std::string& name) {
  const auto known = kSynonyms.find(name);
  return known == kSynonyms.end() ? name : known->second;
}

const std::string* command_of_character(std::string_view character) {
  const auto found = kUnicode.find(character);
  return found == kUnicode.end() ? nullptr : &found->second;
}

}  // namespace roll::math
