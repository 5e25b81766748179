#include "reward/math/commands.h"

#include <map>
#include <set>

namespace roll::math {

namespace {

// Commands that only change the looks.
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

const std::map<std::string, std::string, std::less<>> kSynonyms = {{"dfrac", "frac"},
                                                                   {"tfrac", "frac"},
                                                                   {"cfrac", "frac"},
                                                                   {"dbinom", "binom"},
                                                                   {"tbinom", "binom"},
                                                                   {"leq", "le"},
                                                                   {"leqslant", "le"},
                                                                   {"leqq", "le"},
                                                                   {"geq", "ge"},
                                                                   {"geqslant", "ge"},
                                                                   {"geqq", "ge"},
                                                                   {"neq", "ne"},
                                                                   {"lt", "<"},
                                                                   {"gt", ">"},
                                                                   {"lbrace", "\\{"},
                                                                   {"rbrace", "\\}"},
                                                                   {"lvert", "|"},
                                                                   {"rvert", "|"},
                                                                   {"vert", "|"},
                                                                   {"lbrack", "["},
                                                                   {"rbrack", "]"},
                                                                   {"times", "cdot"},
                                                                   {"ast", "cdot"},
                                                                   {"star", "cdot"},
                                                                   {"div", "/"},
                                                                   {"varnothing", "emptyset"},
                                                                   {"smallsetminus", "setminus"},
                                                                   {"backslash", "setminus"},
                                                                   {"degree", "circ"},
                                                                   {"infin", "infty"},
                                                                   {"infinity", "infty"},
                                                                   {"lparen", "("},
                                                                   {"rparen", ")"},
                                                                   {"colon", ":"},
                                                                   {"varphi", "phi"},
                                                                   {"varepsilon", "epsilon"},
                                                                   {"vartheta", "theta"},
                                                                   {"asin", "arcsin"},
                                                                   {"acos", "arccos"},
                                                                   {"atan", "arctan"},
                                                                   {"Vert", "|"},
                                                                   {"lVert", "|"},
                                                                   {"rVert", "|"},
                                                                   {"|", "|"},
                                                                   {"dots", "ldots"},
                                                                   {"cdots", "ldots"},
                                                                   {"percent", "%"},
                                                                   {"bullet", "cdot"},
                                                                   {"R", "mathbbR"},
                                                                   {"reals", "mathbbR"},
                                                                   {"Z", "mathbbZ"},
                                                                   {"N", "mathbbN"},
                                                                   {"Q", "mathbbQ"},
                                                                   {"C", "mathbbC"},
                                                                   {"approxeq", "approx"},
                                                                   {"thickapprox", "approx"},
                                                                   {"tg", "tan"},
                                                                   {"ctg", "cot"},
                                                                   {"cotg", "cot"},
                                                                   {"arctg", "arctan"}};

// Words that plain text uses for commands.
const std::set<std::string, std::less<>> kPlainCommands = {
    "sin",  "cos",  "tan",   "cot",     "sec", "csc",   "arcsin", "arccos", "arctan", "asin",     "acos",
    "atan", "sinh", "cosh",  "tanh",    "log", "ln",    "exp",    "sqrt",   "pi",     "infinity", "infty",
    "gcd",  "lcm",  "min",   "max",     "mod", "alpha", "beta",   "gamma",  "theta",  "lambda",   "phi",
    "frac", "cdot", "times", "percent", "cis", "tg",    "ctg",    "arctg"};

const std::map<std::string, std::string, std::less<>> kUnicode = {
    {"π", "pi"},       {"∞", "infty"},   {"√", "sqrt"},    {"≤", "le"},      {"≥", "ge"},      {"≠", "ne"},
    {"×", "cdot"},     {"÷", "/"},       {"·", "cdot"},    {"∪", "cup"},     {"∩", "cap"},     {"∈", "in"},
    {"∅", "emptyset"}, {"°", "circ"},    {"±", "pm"},      {"−", "-"},       {"–", "-"},       {"≈", "approx"},
    {"θ", "theta"},    {"α", "alpha"},   {"β", "beta"},    {"⋅", "cdot"},    {"≡", "equiv"},   {"φ", "phi"},
    {"λ", "lambda"},   {"′", "'"},       {"“", ""},        {"”", ""},        {"ℝ", "mathbbR"}, {"ℤ", "mathbbZ"},
    {"…", "ldots"},    {"ℚ", "mathbbQ"}, {"ℕ", "mathbbN"}, {"ℂ", "mathbbC"}, {" ", " "}};

}  // namespace

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
