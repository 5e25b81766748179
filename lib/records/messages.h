// Messages between the ranks of a training run, except metrics (track/metrics.h). Bump a message's version when its
// fields change.
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

constexpr bool is_known(StopKind kind) {
  return kind >= StopKind::kInterrupt && kind <= StopKind::kHangup;
}

constexpr bool is_known(EnvironmentFault fault) {
  return fault >= EnvironmentFault::kTimeout && fault <= EnvironmentFault::kProtocol;
}

/// The checkpoint from which a run resumes.
struct ResumePoint {
  std::filesystem::path folder;  // absolute
  int64_t step = 0;
  std::optional<double> best_metric;  // over all steps so far; nullopt: the metric was different or not measured
  Json early_stop;                    // EarlyStop::state(), or null
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
  std::string folder, run;
  bool goes_on = false;
  std::optional<ResumePoint> resume;
  template <class F>
  void fields(F& field) {
    field("folder", folder), field("run", run), field("goes_on", goes_on), field("resume", resume);
  }
};

/// A part of a checkpoint's state.json; the object that saved it defines the content.
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
  std::vector<FinishedSample> finished;
  std::vector<int64_t> held;  // prompt indices of the responses that wait for a reward model
  std::vector<SampleIndex> put_back;
  int64_t queue = 0;
  std::optional<StopKind> stop;
  bool pauses = false;
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

/// Exchanged within a sampling group: the leader sends the changes of all groups, the others a request to stop.
struct GroupMessage {
  static constexpr MessageKind kMessage{"GRUP", 1, "news within a sampling group"};
  std::vector<SamplingNews> news;
  std::optional<StopKind> wish;
  template <class F>
  void fields(F& field) {
    field("news", news), field("wish", wish);
  }
};

/// Environment answers, sent within a sampling group by its leader, which runs the environments.
struct EnvironmentAnswers {
  static constexpr MessageKind kMessage{"ANSW", 4, "answers of environments"};
  struct Answer {
    int64_t request = 0;
    std::string observation;
    double reward = 0;
    bool is_done = false, is_valid = true;
    std::optional<bool> succeeded;
    std::optional<ToolCounts> tools;
    std::vector<std::string> tool_answers;
    std::string action;
    std::optional<EnvironmentFault> fault;
    std::string why;
    bool is_late = false;
    std::optional<AgentTurn> agent;
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

/// Broadcast from the sampling ranks to the others: a request to stop the run, if there is one.
struct StopWish {
  static constexpr MessageKind kMessage{"STOP", 1, "a request to stop"};
  std::optional<StopKind> kind;
  template <class F>
  void fields(F& field) {
    field("kind", kind);
  }
};

/// Broadcast from the sampling ranks to the others: true if sampling continues after the reward models have judged.
struct SamplingContinues {
  static constexpr MessageKind kMessage{"MORE", 1, "decision to continue sampling"};
  bool goes_on = false;
  template <class F>
  void fields(F& field) {
    field("goes_on", goes_on);
  }
};

/// The lengths of a rank's responses.
struct ResponseLengths {
  static constexpr MessageKind kMessage{"LENG", 1, "lengths of responses"};
  struct Length {
    int32_t prompt = 0, length = 0;
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

/// The response facts of one rank (step/step_index.h).
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

/// Validation results for one rank's responses.
struct JudgedSamples {
  static constexpr MessageKind kMessage{"EVAL", 2, "judged samples of a validation set"};
  std::vector<JudgedSample> samples;
  template <class F>
  void fields(F& field) {
    field("samples", samples);
  }
};

/// Sizes of the questions or answers that a rank is about to send (collect/requests.h).
struct PacketLengths {
  static constexpr MessageKind kMessage{"PACK", 1, "lengths of packets"};
  struct Lengths {
    uint32_t bytes = 0;
    uint32_t length = 0;  // length() of a question, e.g. its tokens
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
  std::vector<int32_t> ids;
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

/// A prompt for a judge model.
struct JudgeRequest {
  static constexpr MessageKind kMessage{"JUDG", 1, "a question to a judge"};
  uint64_t name = 0;  // key of its random numbers
  std::vector<int32_t> ids;
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
  bool is_cut = false;
  template <class F>
  void fields(F& field) {
    field("text", text), field("is_cut", is_cut);
  }
};

/// The first updates of a role, without the gradient values (step/experience_dump.h).
struct FirstUpdateMessage {
  static constexpr MessageKind kMessage{"FRST", 1, "a first update"};
  struct Gradient {
    std::string name;
    std::vector<int64_t> shape;
    template <class F>
    void fields(F& field) {
      field("name", name), field("shape", shape);
    }
  };
  struct Trace {
    std::string name;
    UpdateTrace trace;
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
