// Messages between the ranks of a training run, except metrics (track/metrics.h). base/message.h encodes them. kMessage
// of each message is its tag, its version and its name in errors; raise the version when the fields change.
//
// A sampling group is the ranks that hold one sampler model together; its first rank is the leader. Prompts and samples
// are numbered within the step, equally on all ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/message.h"
#include "environment/environment.h"
#include "evaluation/judged_sample.h"
#include "experience/response_facts.h"
#include "optim/update_trace.h"
#include "process/stop.h"
#include "records/agent_turn.h"
#include "records/rollout_record.h"
#include "records/sample_index.h"
#include "track/sample.h"

namespace roll {

/// Return true if the value is one of the enumerators; decoding checks received values with it.
constexpr bool is_known(StopKind kind) {
  return kind >= StopKind::kInterrupt && kind <= StopKind::kHangup;
}

constexpr bool is_known(EnvironmentFault fault) {
  return fault >= EnvironmentFault::kTimeout && fault <= EnvironmentFault::kProtocol;
}

/// The checkpoint from which a run resumes.
struct ResumePoint {
  std::filesystem::path folder;  // absolute
  int64_t step = 0;              // number of steps done
  // Best value so far of metric_for_best_model; nullopt: not measured, or another metric was configured.
  std::optional<double> best_metric;
  Json early_stop;  // EarlyStop::state(), or null
  template <class F>
  void fields(F& field) {
    std::string path = folder.string();
    field("folder", path);
    folder = path;
    field("step", step), field("best_metric", best_metric), field("early_stop", early_stop);
  }
};

/// The first rank's decision on how the run starts (run/run_start.h).
struct StartMessage {
  static constexpr MessageKind kMessage{"STRT", 1, "start of the run"};
  std::string folder;                 // run folder
  std::string run;                    // id of the run
  bool goes_on = false;               // true: continues the run in `folder`
  std::optional<ResumePoint> resume;  // unset: starts at step 1
  template <class F>
  void fields(F& field) {
    field("folder", folder), field("run", run), field("goes_on", goes_on), field("resume", resume);
  }
};

/// A part of a checkpoint's state.json; its content is defined by the class that saves and loads it.
struct StateMessage {
  static constexpr MessageKind kMessage{"STAT", 1, "a state"};
  Json state;
  template <class F>
  void fields(F& field) {
    field("state", state);
  }
};

/// A response after sampling and scoring.
struct FinishedSample {
  SampleIndex sample;
  std::optional<double> score{};  // unset: it could not be judged
  template <class F>
  void fields(F& field) {
    field("sample", sample), field("score", score);
  }
};

/// Changes in a sampling group since its last message.
struct SamplingChanges {
  std::vector<FinishedSample> finished;  // newly scored responses
  std::vector<int64_t> held;             // for each response that newly waits for a reward model: index of its prompt
  std::vector<SampleIndex> put_back;     // waiting samples that this group gives back, for any group to sample
  int64_t queue = 0;  // requests that wait for a free slot of the sampler; if none waits, minus the free slots
  std::optional<StopKind> stop;  // a request to stop the run
  bool pauses = false;           // true: all groups shall pause, for new weights
  template <class F>
  void fields(F& field) {
    field("finished", finished), field("held", held), field("put_back", put_back);
    field("queue", queue), field("stop", stop), field("pauses", pauses);
  }
};

/// Message of a sampling group to the other groups during sampling (collect/rollout_coordinator.h).
struct SamplingNews {
  static constexpr MessageKind kMessage{"NEWS", 1, "news of sampling"};
  std::optional<SamplingChanges> changes;  // unset: nothing changed
  template <class F>
  void fields(F& field) {
    field("changes", changes);
  }
};

/// Exchanged within a sampling group: the leader sends the news of all groups to its other ranks; these send requests
/// to stop to the leader.
struct GroupMessage {
  static constexpr MessageKind kMessage{"GRUP", 1, "news within a sampling group"};
  std::vector<SamplingNews> news;  // from the leader, one per sampling group
  std::optional<StopKind> wish;    // from other ranks: a request to stop the run; unset: no request
  template <class F>
  void fields(F& field) {
    field("news", news), field("wish", wish);
  }
};

/// Environments' reactions to turns, sent by the leader of a sampling group, which runs the environments, to the
/// others.
struct EnvironmentAnswers {
  static constexpr MessageKind kMessage{"ANSW", 4, "answers of environments"};
  /// A TurnAnswer (collect/turn_answer.h) with its Reaction (environment/environment.h).
  struct Answer {
    int64_t request = 0;                    // number of the trajectory's request in this group
    std::string observation;                // text that the policy sees next
    double reward = 0;                      // reward of the turn
    bool is_done = false;                   // the trajectory ends
    bool is_valid = true;                   // the policy's message held an action
    std::optional<bool> succeeded;          // unset: the environment reports only rewards
    std::optional<ToolCounts> tools;        // numbers of tool calls; unset without tools
    std::vector<std::string> tool_answers;  // answer of each tool call
    std::string action;                     // action in the message; empty: the whole message
    std::optional<EnvironmentFault> fault;  // set if the environment failed
    std::string why;                        // describes the fault
    bool is_late = false;                   // max_seconds of the trajectory are over
    std::optional<AgentTurn> agent;         // next request of an external agent; at the end, its last state
    template <class F>
    void fields(F& field) {
      field("request", request), field("observation", observation), field("reward", reward);
      field("is_done", is_done), field("is_valid", is_valid), field("succeeded", succeeded);
      field("tools", tools), field("tool_answers", tool_answers), field("action", action);
      field("fault", fault), field("why", why), field("is_late", is_late), field("agent", agent);
    }
  };
  std::vector<Answer> answers;
  template <class F>
  void fields(F& field) {
    field("answers", answers);
  }
};

/// Broadcast from the sampling ranks to the others after sampling: whether the run was asked to stop.
struct StopWish {
  static constexpr MessageKind kMessage{"STOP", 1, "a request to stop"};
  std::optional<StopKind> kind;  // unset: the run continues
  template <class F>
  void fields(F& field) {
    field("kind", kind);
  }
};

/// Broadcast from the sampling ranks to the others, which take part in judging by reward models.
struct SamplingContinues {
  static constexpr MessageKind kMessage{"MORE", 1, "decision to continue sampling"};
  bool goes_on = false;  // true: sampling continues after the models have judged
  template <class F>
  void fields(F& field) {
    field("goes_on", goes_on);
  }
};

/// The lengths of one rank's responses, from which later steps predict lengths.
struct ResponseLengths {
  static constexpr MessageKind kMessage{"LENG", 1, "lengths of responses"};
  struct Length {
    int32_t prompt = 0;  // index of the prompt in the step
    int32_t length = 0;  // tokens of the response
    template <class F>
    void fields(F& field) {
      field("prompt", prompt), field("length", length);
    }
  };
  std::vector<Length> lengths;
  template <class F>
  void fields(F& field) {
    field("lengths", lengths);
  }
};

/// The facts (lengths, rewards, ...; experience/response_facts.h) of one rank's responses, from which all ranks build
/// the index of the step (step/step_index.h).
struct FactsMessage {
  static constexpr MessageKind kMessage{"FACT", 5, "facts of responses"};
  std::vector<ResponseFacts> responses;
  template <class F>
  void fields(F& field) {
    field("responses", responses);
  }
};

/// The full rollout records of one rank.
struct Rollouts {
  static constexpr MessageKind kMessage{"ROLL", 6, "rollouts"};
  std::vector<RolloutRecord> records;
  template <class F>
  void fields(F& field) {
    field("records", records);
  }
};

/// Validation samples for the screen and the log.
struct ShownSamples {
  static constexpr MessageKind kMessage{"SHOW", 1, "samples of validation"};
  std::vector<ShownSample> samples;
  template <class F>
  void fields(F& field) {
    field("samples", samples);
  }
};

/// Scores of one rank's responses to a validation set.
struct JudgedSamples {
  static constexpr MessageKind kMessage{"EVAL", 2, "judged samples of a validation set"};
  std::vector<JudgedSample> samples;
  template <class F>
  void fields(F& field) {
    field("samples", samples);
  }
};

/// Sizes of the packets (questions to a judging model, or answers) that a rank is about to send (collect/requests.h).
struct PacketLengths {
  static constexpr MessageKind kMessage{"PACK", 1, "lengths of packets"};
  struct Lengths {
    uint32_t bytes = 0;   // size of the encoded message
    uint32_t length = 0;  // tokens of a question; not used for an answer
    template <class F>
    void fields(F& field) {
      field("bytes", bytes), field("length", length);
    }
  };
  std::vector<Lengths> packets;
  template <class F>
  void fields(F& field) {
    field("packets", packets);
  }
};

/// A tokenized conversation for a reward model to score.
struct ScorePrompt {
  static constexpr MessageKind kMessage{"CONV", 1, "a conversation to score"};
  std::vector<int32_t> ids;  // token ids
  int64_t length() const { return std::ssize(ids); }
  template <class F>
  void fields(F& field) {
    field("ids", ids);
  }
};

/// The answer to a ScorePrompt.
struct ScoreReply {
  static constexpr MessageKind kMessage{"SCOR", 1, "a model's score"};
  float score = 0;
  template <class F>
  void fields(F& field) {
    field("score", score);
  }
};

/// A prompt for a model that judges by writing text.
struct JudgeRequest {
  static constexpr MessageKind kMessage{"JUDG", 1, "a question to a judge"};
  uint64_t name = 0;         // key of the random numbers that draw the answer
  std::vector<int32_t> ids;  // token ids
  int64_t length() const { return std::ssize(ids); }
  template <class F>
  void fields(F& field) {
    field("name", name), field("ids", ids);
  }
};

/// The answer to a JudgeRequest.
struct JudgeResponse {
  static constexpr MessageKind kMessage{"SAID", 1, "a judge's answer"};
  std::string text;
  bool is_cut = false;  // the answer reached the length limit
  template <class F>
  void fields(F& field) {
    field("text", text), field("is_cut", is_cut);
  }
};

/// The first updates of a role (step/experience_dump.h), broadcast by its ranks; the values of the gradients follow as
/// one tensor, in this order.
struct FirstUpdateMessage {
  static constexpr MessageKind kMessage{"FRST", 1, "a first update"};
  struct Gradient {
    std::string name;  // name of the parameter
    std::vector<int64_t> shape;
    template <class F>
    void fields(F& field) {
      field("name", name), field("shape", shape);
    }
  };
  struct Trace {
    std::string name;
    UpdateTrace trace;  // times of computation and communication
    template <class F>
    void fields(F& field) {
      field("name", name), field("trace", trace);
    }
  };
  std::vector<Gradient> gradients;
  std::vector<Trace> traces;
  template <class F>
  void fields(F& field) {
    field("gradients", gradients), field("traces", traces);
  }
};

}  // namespace roll
