// The messages that ranks send each other while a run trains, beside its metrics (track/metrics.h). A change of a
// message's fields needs another version.
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

/// The checkpoint that a run goes on with.
struct ResumePoint {
  std::filesystem::path folder;  // absolute
  int64_t step = 0;
  std::optional<double> best_metric;  // of all steps up to it; nullopt: the present metric was not measured in them
  Json early_stop;                    // EarlyStop::state(), or null
  template <class F>
  void fields(F& field) {
    std::string path = folder.string();
    field("folder", path);
    folder = path;
    field("step", step), field("best_metric", best_metric), field("early_stop", early_stop);
  }
};

/// The start of a run as its first rank has decided it (run/run_start.h).
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

/// A part of a checkpoint's state.json, in the form of the object that it belongs to.
struct StateMessage {
  static constexpr MessageKind kMessage{"STAT", 1, "a state"};
  Json state;
  template <class F>
  void fields(F& field) {
    field("state", state);
  }
};

/// A response that has been sampled and scored.
struct FinishedSample {
  SampleIndex sample;
  std::optional<double> score{};  // none: it could not be judged
  template <class F>
  void fields(F& field) {
    field("sample", sample), field("score", score);
  }
};

/// What has changed in a group of sampling ranks.
struct SamplingChanges {
  std::vector<FinishedSample> finished;
  std::vector<int64_t> held;  // prompts of responses that a model has to score
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

/// What a group of sampling ranks sends the others while it samples (collect/rollout_coordinator.h).
struct SamplingNews {
  static constexpr MessageKind kMessage{"NEWS", 1, "news of sampling"};
  std::optional<SamplingChanges> changes;  // none: nothing is new
  template <class F>
  void fields(F& field) {
    field("changes", changes);
  }
};

/// Within a group of sampling ranks: its leader sends the news of all groups, the others their own wish to stop.
struct GroupMessage {
  static constexpr MessageKind kMessage{"GRUP", 1, "news within a group"};
  std::vector<SamplingNews> news;
  std::optional<StopKind> wish;
  template <class F>
  void fields(F& field) {
    field("news", news), field("wish", wish);
  }
};

/// Within a group of sampling ranks: what environments have answered, from its leader, whose they are.
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

/// From the sampling ranks to the others: whether a rank wishes to stop.
struct StopWish {
  static constexpr MessageKind kMessage{"STOP", 1, "a wish to stop"};
  std::optional<StopKind> kind;
  template <class F>
  void fields(F& field) {
    field("kind", kind);
  }
};

/// From the sampling ranks to the others: whether more is sampled once models have judged.
struct GoesOn {
  static constexpr MessageKind kMessage{"MORE", 1, "whether sampling goes on"};
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

/// The facts of a rank's responses (step/step_index.h).
struct FactsMessage {
  static constexpr MessageKind kMessage{"FACT", 5, "facts of responses"};
  std::vector<ResponseFacts> responses;
  template <class F>
  void fields(F& field) {
    field("responses", responses);
  }
};

/// A rank's responses with all their data.
struct Rollouts {
  static constexpr MessageKind kMessage{"ROLL", 6, "rollouts"};
  std::vector<RolloutRecord> records;
  template <class F>
  void fields(F& field) {
    field("records", records);
  }
};

/// Samples of a validation, for the screen and the log.
struct ShownSamples {
  static constexpr MessageKind kMessage{"SHOW", 1, "samples of validation"};
  std::vector<ShownSample> samples;
  template <class F>
  void fields(F& field) {
    field("samples", samples);
  }
};

/// What a rank's responses of a validation set were found to be.
struct JudgedSamples {
  static constexpr MessageKind kMessage{"EVAL", 2, "judged samples of a validation set"};
  std::vector<JudgedSample> samples;
  template <class F>
  void fields(F& field) {
    field("samples", samples);
  }
};

/// Sizes of the questions, or answers, that a rank is about to send (collect/requests.h).
struct PacketLengths {
  static constexpr MessageKind kMessage{"PACK", 1, "lengths of packets"};
  struct Lengths {
    uint32_t bytes = 0;
    uint32_t length = 0;  // what a question says of itself
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

/// A conversation that a reward model is to score.
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
struct ScoreSaid {
  static constexpr MessageKind kMessage{"SCOR", 1, "a model's score"};
  float score = 0;
  template <class F>
  void fields(F& field) {
    field("score", score);
  }
};

/// A question to a judge.
struct JudgeAsked {
  static constexpr MessageKind kMessage{"JUDG", 1, "a question to a judge"};
  uint64_t name = 0;  // of its random numbers
  std::vector<int32_t> ids;
  int64_t length() const { return std::ssize(ids); }
  template <class F>
  void fields(F& field) {
    field("name", name), field("ids", ids);
  }
};

/// The answer to a JudgeAsked.
struct JudgeSaid {
  static constexpr MessageKind kMessage{"SAID", 1, "a judge's words"};
  std::string text;
  bool is_cut = false;
  template <class F>
  void fields(F& field) {
    field("text", text), field("is_cut", is_cut);
  }
};

/// A role's first updates, without their gradients' numbers (step/experience_dump.h).
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
