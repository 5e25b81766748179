// roll generate --chat: reads a line, streams the answer, and repeats.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <iostream>

#include "app/cli/streams.h"
#include "app/generate/generate.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/terminal.h"
#include "decode/decoder.h"
#include "job/threads.h"
#include "process/stop.h"
#include "rollout/conversation.h"
#include "rollout/engine.h"
#include "rollout/text_stream.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

constexpr int64_t kDefaultLength = 32768;  // tokens, unless --kv-cache-mib or --max-length says otherwise
constexpr int kPollPeriod_ms = 100;        // poll interval for stop signals

EngineLimits choose_limits(const GenerateFlags& flags, const Transformer& model) {
  const int64_t bytes = flags.kv_cache_mib << 20;
  const int64_t max_length = flags.sampling.max_length > 0 ? flags.sampling.max_length : model.spec().max_positions;
  const int64_t default_budget = flags.sampling.max_length > 0 ? flags.sampling.max_length : kDefaultLength;
  const int64_t budget = bytes > 0 ? bytes / page_bytes(model, flags.page_size) * flags.page_size : default_budget;
  return {.max_length = std::min(std::max(budget, flags.page_size), max_length),
          .page_size = flags.page_size,
          .kv_cache_bytes = bytes,
          .weight_bits = flags.weight_bits()};
}

/// Returns when input or its end can be read; throws if a stop signal arrives, where a blocking read would go on
/// waiting.
void wait_for_input() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  int ready = 0;
  while (std::cin.rdbuf()->in_avail() <= 0 && (ready = ::poll(&input, 1, kPollPeriod_ms)) <= 0) {
    if (ready < 0 && errno != EINTR) throw system_error("stdin: poll{}", errno_text());
    throw_if_stopped();
  }
}

class Chat {
 public:
  Chat(const GenerateFlags& flags, const Tokenizer& tokenizer, ChatTemplate chat_template, const Transformer& model)
      : conversation_(tokenizer, std::move(chat_template), flags.system),
        limits_(choose_limits(flags, model)),
        engine_(model, tokenizer, limits_),
        decode_([&](std::span<const int64_t> ids, bool skip) {
          return tokenizer.decode(ids, skip, /*more_follows=*/true);
        }),
        sampling_(flags.sampling),
        is_terminal_(describe_terminal(0).interactive),
        log_(std::cerr, std::cerr, {.rank = 0, .num_ranks = 1, .terminal = describe_terminal(2)}) {
    sampling_.eos_ids = tokenizer.eos_ids();
    sampling_.continues_responses = true;
  }

  void run() {
    log_.info("{}", threads_text());
    if (is_terminal_) log_.info("/reset starts a new conversation, /quit ends, Ctrl-C stops an answer");
    std::string line;
    while (read(line)) {
      if (line == "/quit") break;
      if (line == "/reset")
        conversation_.reset();
      else if (line.find_first_not_of(" \t") != std::string::npos)
        try_to_answer(line);
    }
    log_.info("{} answers: {} prompt tokens computed, {} reused; {} response tokens", num_answers_, num_computed_,
              num_known_, num_drawn_);
  }

 private:
  bool read(std::string& line) {
    if (is_terminal_) std::cerr << "you> " << std::flush;
    wait_for_input();
    const bool is_there = next_line(std::cin, line, "stdin", ++line_);
    if (!is_there && is_terminal_) std::cerr << '\n';
    if (line.ends_with('\r')) line.pop_back();
    return is_there;
  }

  /// Answers a line. On a terminal a UserError is only a warning, as the user can type another line.
  void try_to_answer(const std::string& line) {
    if (!is_terminal_) return answer(line);
    try {
      answer(line);
    } catch (const UserError& error) {
      log_.warn("{}", error.what());
    }
  }

  void answer(const std::string& line) {
    const std::vector<int64_t>& prompt_ids = conversation_.ask(line);
    if (std::ssize(prompt_ids) >= limits_.max_length)
      throw user_error(
          "the conversation has {} tokens with this line, but at most {} leave room for an answer; /reset starts a new "
          "one",
          prompt_ids.size(), limits_.max_length - 1);
    TextStream text(sampling_.generating, decode_);
    SamplerCounts counts;
    const auto show = [&](int64_t, const Generation& so_far) {
      out_.stream() << text.next_text(so_far.ids) << std::flush;
    };
    const GenerationRequest request{.prompt_ids = prompt_ids, .sequence_id = num_answers_};
    const Generation response =
        engine_
            .generate({request}, sampling_, {},
                      {.should_stop = [] { return requested_stop().has_value(); }, .counts = &counts, .on_token = show})
            .front();
    out_.stream() << text.remaining_text(response.text) << '\n';
    out_.close();
    ++num_answers_;
    num_computed_ += counts.prompt_tokens;
    num_known_ += counts.shared_tokens;
    num_drawn_ += counts.drawn;
    if (!response.ids.empty()) conversation_.answer(response);
    log_cut(response, std::ssize(prompt_ids));
    if (requested_stop() == StopKind::kInterrupt) request_stop(std::nullopt);  // Ctrl-C only stops the current answer
    throw_if_stopped();
  }

  void log_cut(const Generation& response, int64_t prompt_length) {
    if (response.finish_reason != FinishReason::kLength) return;
    if (prompt_length + std::ssize(response.ids) == limits_.max_length)
      log_.info("(the conversation has reached its limit of {} tokens; /reset starts a new one)", limits_.max_length);
    else
      log_.info("(cut after {} tokens; --max-new-tokens allows more)", response.ids.size());
  }

  Conversation conversation_;
  EngineLimits limits_;
  Engine engine_;
  DecodeText decode_;
  SamplingParams sampling_;
  bool is_terminal_;
  Output out_{"-"};
  Log log_;
  int64_t line_ = 0;
  uint64_t num_answers_ = 0;
  int64_t num_computed_ = 0, num_known_ = 0, num_drawn_ = 0;  // tokens
};

}  // namespace

void chat(const GenerateFlags& flags) {
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  ChatTemplate chat_template = ChatTemplate::load(flags.model, flags.template_name);
  const Transformer model = open_model(flags);
  catch_stop_signals();
  Chat(flags, tokenizer, std::move(chat_template), model).run();
}

}  // namespace roll
