// Root configuration of `roll distill`, with ROLL's keys: a student learns written answers and, at each token, the
// teacher's likely tokens. fields() declares each key with a help text; RowConfig holds the keys shared with `roll
// sft`.
#pragma once

#include "config/keys.h"
#include "settings/row_config.h"

namespace roll {

struct DistillConfig : RowConfig {
  std::optional<std::string> student_pretrain, teacher_pretrain;
  std::optional<std::string> question_key, answer_key;
  int64_t logits_topk = 64;
  DivergenceArgs divergence;
  bool distill_on_prompt = false;
  WorkerConfig teacher{.duties = {.forwards = true}};

  DistillConfig() : RowConfig("distill", "student") {}

  void fields(Keys& v) {
    run_fields(v);
    loss.aggregation_fields(v);
    divergence.fields(v);
    v("student_pretrain", student_pretrain, "ROLL's spelling of pretrain: the student's first weights");
    v("teacher_pretrain", teacher_pretrain, "the teacher: HF folder or Hub name");
    v("logits_topk", logits_topk,
      "number of the teacher's likeliest tokens to compare at each position, 8 bytes each; 0: the whole vocabulary",
      within(0, 1 << 24));
    v("distill_on_prompt", distill_on_prompt, "true: train on prompts, too, like on answers");
    v("prompt_key", prompt_key, "column of a text before the question");
    v("question_key", question_key, "column of the question");
    v("answer_key", answer_key, "ROLL's spelling of student.data_args.response");
    v("student", trained, "the model in training");
    v("teacher", teacher, "the frozen model, on the ranks of student");
    v("validation", validation, "data of the validation", may_change());
    v.noted({"logits_transfer_backend"},
            "one all-to-all sends the teacher's likeliest tokens to the ranks that train on them");
    v.noted({"num_nodes", "local_rank", "rpc_timeout", "is_offload_states", "is_offload_optimizer_states_in_train_step",
             "base_dir"},
            "one program runs all roles; there are no remote calls to tune");
    v.refused({"system_key"},
              "write the system prompt of a row as a message and name the column of messages; data_args.system sets "
              "one for all rows");
  }
};

}  // namespace roll
