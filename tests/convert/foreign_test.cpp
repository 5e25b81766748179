#include "convert/foreign.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "convert/convert.h"

namespace roll {
namespace {

using Catch::Matchers::Contains;

ForeignScript script_of(const std::string& text) {
  return read_script(text, "s", {});
}

/// "key=value place" of the only launch.
std::vector<std::string> keys_of(const std::string& text) {
  const ForeignScript script = script_of(text);
  REQUIRE(script.launches.size() == 1);
  std::vector<std::string> lines;
  for (const ForeignKey& key : script.launches[0].keys) lines.push_back(key.key + "=" + key.value + " " + key.place);
  return lines;
}

}  // namespace

TEST_CASE("flags and key=value words of a command are keys", "[convert]") {
  CHECK(keys_of("python3 -m trainer --rate 1e-6 --fast \\\n  a.b=c +d.e=f --sizes 1 2 3 --x=y # --not this") ==
        std::vector<std::string>{"rate=1e-6 s:1", "fast=true s:1", "a.b=c s:2", "d.e=f s:2", "sizes=1 2 3 s:2",
                                 "x=y s:2"});
  CHECK(keys_of("python a.py --a 'two words' \"--b\" c; echo --c d") ==
        std::vector<std::string>{"a=two words s:1", "b=c s:1"});
  CHECK(keys_of("ARGS=(\n --a 1 # one\n --b $X\n)\npython a.py ${ARGS[@]}") ==
        std::vector<std::string>{"a=1 s:2", "b=${oc.env:X} s:3"});
  CHECK(keys_of("python a.py --a 1 $EXTRA ${MORE} b.c=$X") ==
        std::vector<std::string>{"a=1 s:1", "b.c=${oc.env:X} s:1"});
}

TEST_CASE("the trainer may be started by other programs", "[convert]") {
  for (const char* starts :
       {"python3 -u", "torchrun --nproc_per_node 8 --nnodes=2", "accelerate launch --num_processes 16",
        "ray job submit --address=x --runtime-env-json '{\"a\": 1}' -- python3", "uv run python",
        "nohup env A=b python3.11", "srun --nodes=2 bash -c 'true' ; exec python", "deepspeed",
        "python -m torch.distributed.run --nproc-per-node 16"}) {
    INFO(starts);
    const ForeignScript script = script_of(std::string(starts) + " train.py --a 1");
    REQUIRE(script.launches.size() == 1);
    CHECK(script.launches[0].program == "train.py");
    REQUIRE(script.launches[0].keys.size() == 1);
    CHECK(script.launches[0].keys[0].key == "a");
  }
  CHECK(script_of("srun bash -c 'python3 -m x.y --a 1 &'").launches.at(0).program == "x.y");
  CHECK(script_of("trl grpo --a 1").launches.at(0).program == "trl grpo");
  CHECK(script_of("ray start --head --num-gpus 8\npip install x.py\npython x.py").launches.empty());
}

TEST_CASE("processes are those that the launcher is told", "[convert]") {
  const auto processes = [](const std::string& starts) {
    const ForeignScript script = script_of(starts + " grpo.py --num_generations 8");
    const ForeignLaunch launch = choose_launch(script, "s", {});
    return launch.keys[0].key + "=" + launch.keys[0].value;
  };
  CHECK(processes("accelerate launch --num_processes 16") == "num_processes=16");
  CHECK(processes("torchrun --nproc_per_node 8 --nnodes 2") == "num_processes=16");
  CHECK(processes("torchrun --nproc-per-node=4") == "num_processes=4");
  CHECK(processes("torchrun") == "num_generations=8");
}

TEST_CASE("of several commands one must be chosen", "[convert]") {
  const ForeignScript script = script_of("for lr in 1e-6 2e-6; do python3 grpo.py --learning_rate $lr; done");
  CHECK_THROWS_WITH(choose_launch(script, "s", {}),
                    Contains("2 commands start a training; choose one with --pick:\n  1. s:1: grpo.py"));
  CHECK(choose_launch(script, "s", 2).keys.at(0).value == "2e-6");
  CHECK_THROWS_WITH(choose_launch(script, "s", 3), Contains("--pick = 3: s has 2 commands"));
}

TEST_CASE("a script that ends before says where, and an argument that is none is told", "[convert]") {
  CHECK_THROWS_WITH(choose_launch(script_of("if [ 1 -lt 2 ]; then\n exit 1\nfi\npython grpo.py --beta 0"), "s", {}),
                    Contains("the script ends at the `exit` of s:2"));
  const ForeignScript script =
      script_of("python3 -m verl.trainer.main_ppo data.train_batch_size=8 \\\n # comment\n data.seed=1");
  REQUIRE(script.notes.size() == 1);
  CHECK_THAT(script.notes[0], Contains("s:3: data.seed=1 is read as a separate command"));
  CHECK_THROWS_WITH(script_of("if x; then A=(--a 1); fi; python3 b.py \"${A[@]}\""),
                    Contains("s:1: this argument may be any key, and depends on A, which depends on"));
}

TEST_CASE("a script that ends where it asks its caller is read as if it were given that", "[convert]") {
  const std::string begin = "if [ $# -lt 2 ]; then exit 1; fi\nN=$1 OUT=$2\nshift 2\n";
  const ForeignScript script = script_of(begin + "torchrun --nproc_per_node=$N -m a.b c.d=$OUT e.f=$3 $@");
  REQUIRE(script.launches.size() == 1);
  const ForeignLaunch& launch = script.launches[0];
  CHECK_THAT(launch.launcher.at(0).unknown, Contains("$1, an argument of the script"));
  CHECK_THAT(launch.keys.at(0).unknown, Contains("$2, an argument of the script"));
  CHECK_THAT(launch.keys.at(1).unknown, Contains("$5, an argument of the script"));
  CHECK_THAT(script.notes.at(0), Contains("s:1: the script exits here because variables or arguments are missing"));
  shell::Reading reading;
  reading.arguments = {"8", "out"};
  const ForeignScript given = read_script(begin + "torchrun --nproc_per_node=$N -m a.b c.d=$OUT $@", "s", reading);
  CHECK(given.launches.at(0).launcher.at(0).value == "8");
  CHECK(given.launches.at(0).keys.at(0).value == "out");
  CHECK(given.notes.empty());

  for (const char* value : {"$BASE", "${BASE}", "${BASE:-}"}) {
    INFO(value);
    const std::string asks = std::string("BASE=") + value + "\nif [ -z \"${BASE}\" ]; then exit 1; fi\n" +
                             "if [ -z \"$ADDR\" ]; then exit 1; fi\npython3 a.py --b $BASE/m --c \"${EXTRA:-}\"";
    const ForeignScript read = script_of(asks);
    REQUIRE(read.launches.size() == 1);
    CHECK(read.launches[0].keys.at(0).value == "${oc.env:BASE}/m");
    CHECK(read.launches[0].keys.at(1).value.empty());
  }
  CHECK(script_of("exit 1\npython3 a.py --b 1").launches.empty());
}

TEST_CASE("a script that looks for Ascend's library does not find it", "[convert]") {
  const ForeignScript script = script_of(
      "D=${D:-$(python3 -c 'import torch_npu' 2>/dev/null && echo npu || echo gpu)}\nL=(python3)\n"
      "if [ $D = gpu ]; then L=(uv run python3); fi\n\"${L[@]}\" -m a.b c.d=$D");
  REQUIRE(script.launches.size() == 1);
  CHECK(script.launches[0].keys.at(0).value == "gpu");
  CHECK_THAT(script.notes.at(0),
             Contains("s:1: this check for torch_npu counts as failed, as on machines without Ascend NPUs"));
  // What starts Python may be unknown; its keys are not.
  const ForeignScript either =
      script_of("if x; then L=(uv run python3); else L=(python3); fi\n\"${L[@]}\" -m a.b c.d=1");
  REQUIRE(either.launches.size() == 1);
  CHECK(either.launches[0].program == "a.b");
}

TEST_CASE("code blocks of a README are scripts with the file's lines", "[convert]") {
  const ForeignScript script = read_markdown(
      "# Title\n```bash\n$ python grpo.py \\\n  --beta 0.1\n```\n```python\nx = 'python a.py --b 1'\n```\n"
      "text\n```\nif broken\n```\n```sh\npython rloo.py --beta 1\n```\n",
      "README.md", {});
  REQUIRE(script.launches.size() == 2);
  CHECK(script.launches[0].keys.at(0).place == "README.md:4");
  CHECK(script.launches[1].keys.at(0).place == "README.md:14");
}

TEST_CASE("a README's blocks may run on for ever, but only a few of them", "[convert]") {
  const std::string endless = "```sh\nfor ((;;)); do a=1; done\n```\n", last = "```sh\npython grpo.py --beta 1\n```\n";
  CHECK(read_markdown(endless + endless + last, "README.md", {}).launches.size() == 1);
  std::string many;
  for (int i = 0; i < 10; ++i) many += endless;
  CHECK_THROWS_WITH(
      read_markdown(many + last, "README.md", {}),
      "README.md:11: the commands up to this line take too long to read; give a script with the commands of one "
      "training");
}

TEST_CASE("scripts without bounds, and bytes that are no text, are refused", "[convert]") {
  std::string script = "A=xxxxxxxxxx\n";
  for (char c = 'A'; c < 'Y'; ++c) script += std::string(1, c + 1) + "=$" + c + "$" + c + "$" + c + "\n";
  CHECK_THROWS_WITH(script_of(script), Contains("more than 64 KB in a variable"));
  std::string many = "A=" + std::string(60'000, 'x') + "\nrun";
  for (int i = 0; i < 1000; ++i) many += " --a $A";
  CHECK_THROWS_WITH(script_of(many), Contains("s:2: the script runs too long, or grows too large"));
  CHECK_THROWS_WITH(script_of("run\n --a \xff"), Contains("s:2:6: byte 0xff is no UTF-8; save the file as UTF-8"));
}

}  // namespace roll
