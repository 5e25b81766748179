// libroll_grammar.so: loads compiled grammars and matches them token by token.
#include <algorithm>
#include <stdexcept>

#include "grammar/xgrammar_tokens.h"

namespace roll {

namespace {

class State : public ConstraintState {
 public:
  explicit State(const xgrammar::CompiledGrammar& grammar)
      : matcher_(grammar),
        ends_(grammar.GetTokenizerInfo().GetStopTokenIds()),
        mask_(static_cast<size_t>(xgrammar::GetBitmaskSize(grammar.GetTokenizerInfo().GetVocabSize()))) {}

  std::span<const uint32_t> allowed() override {
    if (is_mask_current_) return mask_;
    int64_t size = std::ssize(mask_);
    DLTensor tensor{.data = mask_.data(),
                    .device = {kDLCPU, 0},
                    .ndim = 1,
                    .dtype = xgrammar::GetBitmaskDLType(),
                    .shape = &size,
                    .strides = nullptr,
                    .byte_offset = 0};
    if (is_matching_) matcher_.FillNextTokenBitmask(&tensor);
    if (!is_matching_ || std::ranges::all_of(mask_, [](uint32_t word) { return word == 0; })) allow_ends();
    is_mask_current_ = true;
    return mask_;
  }

  void accept(int64_t token) override {
    is_matching_ = is_matching_ && matcher_.AcceptToken(static_cast<int32_t>(token)) && !matcher_.IsTerminated();
    is_mask_current_ = false;
  }

 private:
  /// Allows only end tokens, if no token fits or the grammar is complete.
  void allow_ends() {
    std::ranges::fill(mask_, 0);
    for (const int32_t end : ends_) mask_[static_cast<size_t>(end) / 32] |= uint32_t{1} << (end % 32);
  }

  xgrammar::GrammarMatcher matcher_;
  std::vector<int32_t> ends_;
  std::vector<uint32_t> mask_;
  bool is_mask_current_ = false, is_matching_ = true;
};

class Constraint : public TokenConstraint {
 public:
  explicit Constraint(xgrammar::CompiledGrammar grammar) : grammar_(std::move(grammar)) {}
  std::unique_ptr<ConstraintState> begin() const override { return std::make_unique<State>(grammar_); }
  size_t num_bytes() const override { return grammar_.MemorySizeBytes(); }

 private:
  xgrammar::CompiledGrammar grammar_;
};

class Tokens : public GrammarTokens {
 public:
  explicit Tokens(const TokenTexts& tokens) : info_(xgrammar_tokens(tokens)) {}
  std::shared_ptr<const TokenConstraint> constraint(const std::string& compiled) const override {
    auto grammar = xgrammar::CompiledGrammar::DeserializeJSON(compiled, info_);
    if (auto* const found = std::get_if<xgrammar::CompiledGrammar>(&grammar))
      return std::make_shared<Constraint>(std::move(*found));
    throw std::runtime_error("roll_grammar and libroll_grammar.so are of different versions");
  }

 private:
  xgrammar::TokenizerInfo info_;
};

std::unique_ptr<GrammarTokens> make_tokens(const TokenTexts& tokens) {
  return std::make_unique<Tokens>(tokens);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const GrammarLibrary roll_grammar_library;
const GrammarLibrary roll_grammar_library{.tokens = make_tokens};

}  // namespace roll
