#include "reward/math/units.h"

#include <map>

#include "reward/math/lexer.h"

namespace roll::math {

namespace {

const std::map<std::string, std::string, std::less<>> kUnits = {{"mm", "mm"},
                                                                {"millimeters", "mm"},
                                                                {"cm", "cm"},
                                                                {"centimeter", "cm"},
                                                                {"centimeters", "cm"},
                                                                {"m", "m"},
                                                                {"meter", "m"},
                                                                {"meters", "m"},
                                                                {"metres", "m"},
                                                                {"km", "km"},
                                                                {"kilometer", "km"},
                                                                {"kilometers", "km"},
                                                                {"in", "in"},
                                                                {"inch", "in"},
                                                                {"inches", "in"},
                                                                {"ft", "ft"},
                                                                {"foot", "ft"},
                                                                {"feet", "ft"},
                                                                {"yd", "yd"},
                                                                {"yard", "yd"},
                                                                {"yards", "yd"},
                                                                {"mi", "mi"},
                                                                {"mile", "mi"},
                                                                {"miles", "mi"},
                                                                {"s", "s"},
                                                                {"sec", "s"},
                                                                {"second", "s"},
                                                                {"seconds", "s"},
                                                                {"min", "min"},
                                                                {"minute", "min"},
                                                                {"minutes", "min"},
                                                                {"h", "h"},
                                                                {"hr", "h"},
                                                                {"hrs", "h"},
                                                                {"hour", "h"},
                                                                {"hours", "h"},
                                                                {"day", "day"},
                                                                {"days", "day"},
                                                                {"week", "week"},
                                                                {"weeks", "week"},
                                                                {"month", "month"},
                                                                {"months", "month"},
                                                                {"year", "year"},
                                                                {"years", "year"},
                                                                {"mg", "mg"},
                                                                {"g", "g"},
                                                                {"gram", "g"},
                                                                {"grams", "g"},
                                                                {"kg", "kg"},
                                                                {"kilogram", "kg"},
                                                                {"kilograms", "kg"},
                                                                {"lb", "lb"},
                                                                {"lbs", "lb"},
                                                                {"pound", "lb"},
                                                                {"pounds", "lb"},
                                                                {"oz", "oz"},
                                                                {"ounce", "oz"},
                                                                {"ounces", "oz"},
                                                                {"dollar", "dollar"},
                                                                {"dollars", "dollar"},
                                                                {"cent", "cent"},
                                                                {"cents", "cent"},
                                                                {"degrees", "degree"},
                                                                {"radians", "radian"}};

}  // namespace

std::string unit_of(std::string_view text) {
  const std::vector<Token> tokens = tokenize_latex(text);
  size_t last = tokens.size() - 1;  // the end
  if (last >= 2 && tokens[last - 2].sign("^")) last -= 2;
  if (last < 2 || tokens[last - 1].kind != Token::Kind::kText) return "";
  const auto unit = kUnits.find(plain_text(tokens[last - 1].text));
  return unit == kUnits.end() ? "" : unit->second;
}

}  // namespace roll::math
