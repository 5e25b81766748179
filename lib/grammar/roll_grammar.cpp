// roll_grammar: compiles a grammar for a vocabulary in a separate process, so that an untrusted grammar cannot exceed
// its limits on time and memory. Standard input: the grammar; descriptor 3: the vocabulary; standard output: input for
// libroll_grammar.so. Exit status 1: standard error says why compiling failed.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

#include "grammar/token_texts.h"
#include "grammar/xgrammar_tokens.h"

namespace {

void limit(__rlimit_resource resource, rlim_t maximum) {
  const rlimit value{maximum, maximum};
  setrlimit(resource, &value);
}

}  // namespace

int main() {
  limit(RLIMIT_CPU, roll::kMostGrammarSeconds);
  limit(RLIMIT_AS, roll::kMostGrammarMemory);
  limit(RLIMIT_CORE, 0);
  try {
    const std::string grammar = roll::read_all(STDIN_FILENO), tokens = roll::read_all(roll::kVocabularyFd);
    xgrammar::GrammarCompiler compiler(xgrammar_tokens(roll::unpack_token_texts(tokens)), 1, false);
    const std::string compiled = compiler.CompileGrammar(grammar).SerializeJSON();
    return roll::write_all(STDOUT_FILENO, compiled) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
