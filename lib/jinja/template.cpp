#include "jinja/template.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "jinja/budget.h"
#include "jinja/context.h"
#include "jinja/expressions.h"
#include "jinja/lexer.h"
#include "unicode/unicode.h"

namespace roll::jinja {

namespace {

using Block = std::vector<Statement>;
using Names = std::vector<std::string>;

constexpr size_t kMaxSource = 1 << 20;
constexpr size_t kIterationBytes = 10 * kStepBytes;

Flow run(const Block& block, Context& context) {
  for (const Statement& statement : block)
    if (const Flow flow = statement(context); flow != Flow::kNext) return flow;
  return Flow::kNext;
}

/// Assigns a value to one name, or its elements to several names.
void assign(Context& context, const Names& names, const Value& value) {
  if (names.size() == 1) return context.set(names[0], value);
  const List parts = value.elements();
  if (parts.size() != names.size()) throw Failure(fmt::format("{} values for {} names", parts.size(), names.size()));
  for (size_t i = 0; i < names.size(); ++i) context.set(names[i], parts[i]);
}

/// Returns the `loop` variable of an iteration.
Value loop_variable(const List& items, size_t i) {
  const auto n = static_cast<int64_t>(items.size()), index = static_cast<int64_t>(i);
  const auto neighbour = [&](int64_t at) {
    return at >= 0 && at < n ? items[at] : Value(Undefined{"the neighbour of this item of the loop"});
  };
  const Function cycle = [index](const Arguments& a) {
    if (a.positional.empty()) throw Failure("loop.cycle needs values");
    return a.positional[static_cast<size_t>(index) % a.positional.size()];
  };
  return Dict{{"index", index + 1},
              {"index0", index},
              {"revindex", n - index},
              {"revindex0", n - index - 1},
              {"first", index == 0},
              {"last", index + 1 == n},
              {"length", n},
              {"previtem", neighbour(index - 1)},
              {"nextitem", neighbour(index + 1)},
              {"cycle", Value(cycle)}};
}

struct ForLoop {
  Names names;
  Expression items, condition;
  Block body, else_block;

  List filtered_items(Context& context) const {
    List all_items = items(context).elements(), filtered;
    if (!condition) return all_items;
    for (const Value& item : all_items)
      context.in_scope([&] {
        charge(kIterationBytes);
        assign(context, names, item);
        if (condition(context).truthy()) filtered.push_back(item);
      });
    return filtered;
  }

  Flow operator()(Context& context) const {
    const List list = filtered_items(context);
    if (list.empty()) return context.in_scope([&] { return run(else_block, context); });
    for (size_t i = 0; i < list.size(); ++i) {
      charge(kIterationBytes);
      const Flow flow = context.in_scope([&] {
        assign(context, names, list[i]);
        context.set("loop", loop_variable(list, i));
        return run(body, context);
      });
      if (flow == Flow::kBreak) break;
    }
    return Flow::kNext;
  }
};

struct Macro {
  std::string name;
  std::vector<std::pair<std::string, Expression>> parameters;  // with defaults, which may be empty
  Block body;

  Value call(Context& context, const Arguments& arguments) const {
    if (arguments.positional.size() > parameters.size())
      throw Failure(
          fmt::format("macro '{}' takes {} arguments, not {}", name, parameters.size(), arguments.positional.size()));
    return context.in_macro([&] {
      for (size_t i = 0; i < parameters.size(); ++i) {
        const auto& [parameter, default_value] = parameters[i];
        auto argument = arguments.find(i, parameter);
        context.set(parameter, argument        ? *std::move(argument)
                               : default_value ? default_value(context)
                                               : Value(Undefined{parameter}));
      }
      run(body, context);
    });
  }
};

class TemplateParser {
 public:
  explicit TemplateParser(TokenStream& in) : in_(in) {}

  Block parse_all() {
    Block block;
    while (!in_.is(TokenKind::kEnd)) parse_item(block);
    return block;
  }

 private:
  /// Parses statements up to a tag that begins with one of `ends`; consumes its {% but not the name.
  Block parse_until(std::initializer_list<std::string_view> ends) {
    const TokenStream::Nested nested(in_);
    for (Block block;;) {
      if (in_.is(TokenKind::kEnd)) in_.fail(fmt::format("{{% {} %}} is expected", *(ends.end() - 1)));
      if (in_.is(TokenKind::kTagBegin) && in_.peek(1).kind == TokenKind::kName &&
          std::ranges::find(ends, std::string_view(in_.peek(1).text)) != ends.end()) {
        in_.next();
        return block;
      }
      parse_item(block);
    }
  }

  void end_tag(std::string_view name) {
    in_.expect_name(name);
    in_.expect(TokenKind::kTagEnd, "%}");
  }

  void parse_item(Block& block) {
    if (in_.is(TokenKind::kText)) {
      block.push_back([text = in_.next().text](Context& c) { return c.write(text), Flow::kNext; });
    } else if (in_.is(TokenKind::kPrintBegin)) {
      const int line = in_.next().line;
      Expression value = parse_tuple(in_);
      in_.expect(TokenKind::kPrintEnd, "}}");
      block.push_back([value = std::move(value), line](Context& c) {
        c.begin_step(line);
        return c.write(value(c).text()), Flow::kNext;
      });
    } else {
      in_.expect(TokenKind::kTagBegin, "a tag");
      tag(block);
    }
  }

  void tag(Block& block) {
    const int line = in_.line();
    if (in_.is_name("generation")) return generation(block);
    Statement statement = this->statement();
    block.push_back([statement = std::move(statement), line](Context& c) {
      c.begin_step(line);
      return statement(c);
    });
  }

  Statement statement() {
    if (in_.take_name("if")) return if_statement();
    if (in_.take_name("for")) return for_statement();
    if (in_.take_name("set")) return set_statement();
    if (in_.take_name("macro")) return macro_statement();
    if (in_.take_name("with")) return with_statement();
    if (in_.take_name("break")) return loop_control(Flow::kBreak);
    if (in_.take_name("continue")) return loop_control(Flow::kContinue);
    in_.fail("unknown tag (known are if, for, set, macro, with, raw, break, continue, generation)");
  }

  Statement if_statement() {
    std::vector<std::pair<Expression, Block>> branches;
    Block else_block;
    do {
      Expression condition = parse_tuple(in_);
      in_.expect(TokenKind::kTagEnd, "%}");
      branches.emplace_back(std::move(condition), parse_until({"elif", "else", "endif"}));
    } while (in_.take_name("elif"));
    if (in_.take_name("else")) {
      in_.expect(TokenKind::kTagEnd, "%}");
      else_block = parse_until({"endif"});
    }
    end_tag("endif");
    return [branches = std::move(branches), else_block = std::move(else_block)](Context& c) {
      for (const auto& [condition, block] : branches)
        if (condition(c).truthy()) return run(block, c);
      return run(else_block, c);
    };
  }

  Names names() {
    Names out{in_.identifier()};
    while (in_.take_operator(",")) out.push_back(in_.identifier());
    return out;
  }

  Statement for_statement() {
    auto loop = std::make_shared<ForLoop>();
    const bool parenthesis = in_.take_operator("(");
    loop->names = names();
    if (parenthesis) in_.expect_operator(")");
    in_.expect_name("in");
    loop->items = parse_tuple(in_, false);
    if (in_.take_name("if")) loop->condition = parse_expression(in_);
    in_.expect(TokenKind::kTagEnd, "%}");
    ++loops_;
    loop->body = parse_until({"else", "endfor"});
    --loops_;
    if (in_.take_name("else")) {
      in_.expect(TokenKind::kTagEnd, "%}");
      loop->else_block = parse_until({"endfor"});
    }
    end_tag("endfor");
    return [loop](Context& c) { return (*loop)(c); };
  }

  Statement loop_control(Flow flow) {
    if (loops_ == 0) in_.fail("break and continue are allowed only in loops");
    in_.expect(TokenKind::kTagEnd, "%}");
    return [flow](Context&) { return flow; };
  }

  /// Parses set a = x; set a, b = x; set namespace.a = x; set a %}...{% endset.
  Statement set_statement() {
    Names targets = names();
    const std::string member = in_.take_operator(".") ? in_.identifier() : "";
    if (in_.take_operator("=")) {
      Expression value = parse_tuple(in_);
      in_.expect(TokenKind::kTagEnd, "%}");
      if (member.empty())
        return [targets, value = std::move(value)](Context& c) { return assign(c, targets, value(c)), Flow::kNext; };
      return [targets, member, value = std::move(value)](Context& c) {
        return c.get(targets[0]).set_member(member, value(c)), Flow::kNext;
      };
    }
    if (targets.size() != 1 || !member.empty()) in_.fail("'=' is expected");
    in_.expect(TokenKind::kTagEnd, "%}");
    Block body = parse_until({"endset"});
    end_tag("endset");
    return [targets, body = std::move(body)](Context& c) {
      c.set(targets[0], c.captured([&] { c.in_scope([&] { return run(body, c); }); }));
      return Flow::kNext;
    };
  }

  Statement macro_statement() {
    auto macro = std::make_shared<Macro>();
    macro->name = in_.identifier();
    in_.expect_operator("(");
    while (!in_.take_operator(")")) {
      std::string parameter = in_.identifier();
      macro->parameters.emplace_back(std::move(parameter),
                                     in_.take_operator("=") ? parse_expression(in_) : Expression());
      if (!in_.is_operator(")")) in_.expect_operator(",");
    }
    in_.expect(TokenKind::kTagEnd, "%}");
    const int outer_loops = std::exchange(loops_, 0);
    macro->body = parse_until({"endmacro"});
    loops_ = outer_loops;
    end_tag("endmacro");
    return [macro](Context& c) {
      c.set(macro->name, Value(Function([macro, &c](const Arguments& a) { return macro->call(c, a); })));
      return Flow::kNext;
    };
  }

  Statement with_statement() {
    std::vector<std::pair<Names, Expression>> bindings;
    while (!in_.is(TokenKind::kTagEnd)) {
      Names target{in_.identifier()};
      in_.expect_operator("=");
      bindings.emplace_back(std::move(target), parse_expression(in_));
      if (!in_.is(TokenKind::kTagEnd)) in_.expect_operator(",");
    }
    in_.expect(TokenKind::kTagEnd, "%}");
    Block body = parse_until({"endwith"});
    end_tag("endwith");
    return [bindings = std::move(bindings), body = std::move(body)](Context& c) {
      return c.in_scope([&] {
        for (const auto& [target, value] : bindings) assign(c, target, value(c));
        return run(body, c);
      });
    };
  }

  /// Parses {% generation %}, which only marks the assistant's text for training masks; its content is rendered as
  /// usual.
  void generation(Block& block) {
    in_.next();
    in_.expect(TokenKind::kTagEnd, "%}");
    Block body = parse_until({"endgeneration"});
    end_tag("endgeneration");
    block.push_back([body = std::move(body)](Context& c) { return run(body, c); });
  }

  TokenStream& in_;
  int loops_ = 0;
};

}  // namespace

Template Template::parse(std::string_view source, const std::string& origin) {
  if (source.size() > kMaxSource)
    throw user_error("{}: has {} bytes; a chat template may have at most {}", origin, source.size(), kMaxSource);
  if (const size_t valid = valid_utf8_prefix(source); valid < source.size())
    throw user_error("{}: byte {} is not UTF-8; convert the file", origin, valid);
  Template out;
  out.origin_ = origin;
  TokenStream stream(tokenize(source, origin), origin);
  out.body_ = [block = TemplateParser(stream).parse_all()](Context& context) { run(block, context); };
  return out;
}

std::string Template::render(const Dict& variables, size_t max_work) const {
  const Budget budget(max_work);
  Context context(variables);
  try {
    body_(context);
  } catch (const Failure& failure) {
    throw user_error("{}:{}: {}", origin_, context.line(), failure.what());
  }
  return context.written();
}

}  // namespace roll::jinja
