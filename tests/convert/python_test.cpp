#include "convert/python.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "convert/convert.h"

namespace roll {
namespace {

using Catch::Matchers::Contains;

std::vector<std::string> keys_of_python(const std::string& text) {
  const ForeignScript script = read_python(text, "s.py", {});
  REQUIRE(script.launches.size() == 1);
  std::vector<std::string> lines;
  for (const ForeignKey& key : script.launches[0].keys)
    lines.push_back(key.key + "=" + key.value + (key.unknown.empty() ? "" : "?" + key.unknown) + " " + key.place);
  return lines;
}

}  // namespace

TEST_CASE("keywords of a configuration's call are keys", "[convert]") {
  CHECK(keys_of_python("# c = GRPOConfig(x=1)\nN = 4\nNAME = f'run-{N}'\nargs = GRPOConfig(\n    beta=0.0,  # none\n"
                       "    output_dir=NAME + '/x', learning_rate=1e-6,\n    num_generations=2 * N, use_vllm=True, "
                       "top_p=None,\n    max_steps=(10 + 2) // 5, temperature=-(1 - 2 ** 2) / 3, seed=1_000,\n"
                       "    sizes=[1, 2],\n)\n") ==
        std::vector<std::string>{"beta=0.0 s.py:5", "output_dir=run-4/x s.py:6", "learning_rate=1e-6 s.py:6",
                                 "num_generations=8 s.py:7", "use_vllm=True s.py:7", "top_p=None s.py:7",
                                 "max_steps=2 s.py:8", "temperature=1 s.py:8", "seed=1000 s.py:8",
                                 "sizes=[1,2] s.py:9"});
}

TEST_CASE("what is no constant of a Python script is unknown", "[convert]") {
  CHECK(keys_of_python("N = 1\nN = 2\nGRPOConfig(a=os.environ['X'], b=N, c=f(1, 2), d=f'{x}')") ==
        std::vector<std::string>{"a=?os.environ[\"X\"] (s.py:3) s.py:3", "b=?N (s.py:3) s.py:3",
                                 "c=?f(1,2) (s.py:3) s.py:3", "d=?\"{x}\" (s.py:3) s.py:3"});
}

TEST_CASE("a trainer's own keywords say the model and the kind", "[convert]") {
  const std::string config = "args = GRPOConfig(num_generations=8, learning_rate=1e-6)\n";
  const auto converted = [](const std::string& text) {
    return convert_config(choose_launch(read_python(text, "s.py", {}), "s.py", {}).keys, "auto", 1);
  };
  CHECK_THAT(converted(config + "GRPOTrainer(model='m', args=args, reward_funcs=f, train_dataset=d)").yaml,
             Contains("pretrain: m ") && Contains("# from s.py:2: model_name_or_path"));
  CHECK_THAT(converted("t = GRPOTrainer(model='m', args=GRPOConfig(num_generations=4))").yaml,
             Contains("num_return_sequences_in_group: 4 "));
  CHECK_THROWS_WITH(
      converted(config + "GRPOTrainer(args=args, peft_config=lora(8))"),
      Contains("s.py:2: peft_config = lora(8) (s.py:2): this object is known only when the script runs") &&
          Contains("--use_peft true with --lora_r"));
  CHECK_THROWS_WITH(converted(config + "GRPOTrainer(args=args, tools=[f])"),
                    Contains("s.py:2: tools = [f]: several turns"));
  CHECK_THROWS_WITH(converted("SFTConfig(learning_rate=1e-6)"), Contains("s.py:1: SFTConfig: fine-tunes on responses"));
}

TEST_CASE("PEFT's adapters are those of a trainer, with PEFT's defaults", "[convert]") {
  const std::string config = "args = GRPOConfig(num_generations=8)\n";
  const auto converted = [&](const std::string& text) {
    return convert_config(choose_launch(read_python(config + text, "s.py", {}), "s.py", {}).keys, "auto", 1).yaml;
  };
  CHECK_THAT(converted("GRPOTrainer(model='m', peft_config=LoraConfig(), args=args, reward_funcs=f)"),
             Contains("lora_rank: 8 ") && Contains("lora_alpha: 8 ") && Contains("lora_dropout: 0.0 ") &&
                 Contains("lora_target: [q_proj, v_proj] ") && Contains("pretrain: m "));
  const std::string named =
      "lora = LoraConfig(r=1, lora_alpha=32, lora_dropout=0.1, target_modules=['q_proj', 'o_proj'], use_rslora=True,\n"
      "                  bias='none', task_type='CAUSAL_LM')\n";
  const std::string trainer = "GRPOTrainer(model='m', args=args, peft_config=lora)";
  CHECK_THAT(converted(named + trainer), Contains("lora_rank: 1 ") && Contains("lora_alpha: 32 ") &&
                                             Contains("lora_dropout: 0.1 ") && Contains("use_rslora: true ") &&
                                             Contains("lora_target: [q_proj, o_proj] ") && Contains("# from s.py:2:"));
  CHECK_THAT(converted(named + "GRPOTrainer(model='m', args=args)"), !Contains("lora_rank"));
  CHECK_THROWS_WITH(converted("lora = None\nif x:\n  " + named + trainer),
                    Contains("this object is known only when the script runs"));
  CHECK_THROWS_WITH(converted("lora = LoraConfig(r=args.rank)\n" + trainer),
                    Contains("s.py:2: lora_r depends on args.rank (s.py:2)") && Contains("--lora_r VALUE"));
  CHECK_THROWS_WITH(converted("lora = LoraConfig(bias='all')\n" + trainer),
                    Contains("s.py:2: peft_config.bias = all: training biases"));
  CHECK_THROWS_WITH(converted("lora = LoraConfig(layers_to_transform=[1])\n" + trainer),
                    Contains("s.py:2: peft_config.layers_to_transform = [1]: not a supported setting of LoraConfig"));
  for (const char* text :
       {"a = LoraConfig(", "GRPOTrainer(peft_config=LoraConfig(", "GRPOTrainer(peft_config=LoraConfig(]"})
    CHECK_NOTHROW(read_python(text, "s.py", {}));
}

TEST_CASE("a model's own adapters and quantisation are those of the training", "[convert]") {
  const std::string trainer = "GRPOTrainer(model=model, args=GRPOConfig(num_generations=8), reward_funcs=f)";
  const auto converted = [&](const std::string& text, std::vector<ForeignKey> given = {}) {
    std::vector<ForeignKey> keys = choose_launch(read_python(text + trainer, "s.py", {}), "s.py", {}).keys;
    keys.insert(keys.end(), given.begin(), given.end());
    return convert_config(keys, "auto", 1).yaml;
  };
  const std::string unsloth = "model, tokenizer = FastLanguageModel.from_pretrained(model_name='m', max_seq_length=9";
  CHECK_THAT(converted(unsloth + ")\nmodel = FastLanguageModel.get_peft_model(model, r=32, lora_alpha=64)\n"),
             Contains("pretrain: m ") && Contains("lora_rank: 32 ") && Contains("lora_alpha: 64 ") &&
                 Contains("quantise_base: nf4 ") &&
                 Contains("lora_target: [q_proj, k_proj, v_proj, o_proj, gate_proj,"));
  CHECK_THAT(converted(unsloth + ", load_in_4bit=False)\nmodel = FastLanguageModel.get_peft_model(model)\n"),
             Contains("lora_rank: 16 ") && !Contains("quantise_base"));
  CHECK_THROWS_WITH(converted(unsloth + ", load_in_4bit=True)\n"), Contains("4-bit weights cannot be trained"));

  const std::string bits = "q = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type='nf4')\n",
                    base = "model = AutoModelForCausalLM.from_pretrained('m', quantization_config=q)\n",
                    peft = "lora = LoraConfig(r=4, target_modules='all-linear')\nmodel = get_peft_model(model, lora)\n";
  CHECK_THAT(converted(bits + base + peft), Contains("pretrain: m ") && Contains("lora_rank: 4 ") &&
                                                Contains("lora_target: [all-linear] ") &&
                                                Contains("quantise_base: nf4 "));
  CHECK_THROWS_WITH(converted("q = BitsAndBytesConfig(load_in_4bit=True)\n" + base + peft),
                    Contains("bnb_4bit_quant_type = fp4"));
  CHECK_THROWS_WITH(converted(base + peft), Contains("quantization_config"));

  // What nobody takes up is asked for, and never lost.
  const std::vector<ForeignKey> model{{"model_name_or_path", "m", "command line", ""}};
  CHECK_THROWS_WITH(converted("model = wrap(get_peft_model(load(), LoraConfig(r=4)))\n", model),
                    Contains("s.py:1: peft_config = get_peft_model(...)"));
  CHECK_THROWS_WITH(converted("model = load('m', load_in_4bit=True)\n", model),
                    Contains("load_in_4bit depends on load_in_4bit = True"));
  CHECK_THROWS_WITH(converted("model = load('m')\nfor p in model.parameters():\n  p.requires_grad = False\n", model),
                    Contains("s.py:3: requires_grad = frozen: the script freezes weights"));
  CHECK_NOTHROW(converted("model = load('m')\n", model));
  CHECK_THROWS_WITH(
      convert_config(
          choose_launch(read_python("GRPOTrainer(model='m', args=GRPOConfig(model_init_kwargs={'load_in_4bit': "
                                    "True}))",
                                    "s.py", {}),
                        "s.py", {})
              .keys,
          "auto", 1),
      Contains("loading the weights in this way"));
}

TEST_CASE("a script that takes its settings from its command line shows the command", "[convert]") {
  const ForeignScript script = read_python(
      "# license\n\"\"\"\nIt's how:\n\n```\npython grpo.py \\\n    --beta 0.1\n```\n\"\"\"\nimport x\n", "s.py", {});
  REQUIRE(script.launches.size() == 1);
  CHECK(script.launches[0].keys.at(0).place == "s.py:7");
  const std::string text =
      "\"\"\"\npython grpo.py --beta 0.1\n\"\"\"\nGRPOTrainer(model=m, peft_config=get_peft_config(m), tools=[f], "
      "quantization_config=get_quantization_config(m))";
  const auto keys = read_python(text, "s.py", {}).launches.at(0).keys;
  REQUIRE(keys.size() == 2);
  CHECK(keys[1].key == "tools");
}

TEST_CASE("Python of any shape ends", "[convert]") {
  for (const std::string& text :
       {std::string("GRPOConfig("), std::string("GRPOConfig(]"), std::string("GRPOConfig(a=]b=1"),
        std::string("x = 'y"), std::string("GRPOTrainer(args=GRPOConfig("),
        "GRPOConfig(a=" + std::string(100'000, '(') + "1", "GRPOConfig(a=" + std::string(100'000, '-') + "1",
        std::string("GRPOConfig(a=2**99999, b=1/0, c=)")})
    CHECK_NOTHROW(read_python(text, "s.py", {}));
}

}  // namespace roll
