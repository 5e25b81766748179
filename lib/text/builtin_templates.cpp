#include "text/builtin_templates.h"

#include <array>
#include <utility>

namespace roll {

namespace {

constexpr std::string_view kChatml =
    R"({% for message in messages %}
{{ '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{%- endif %}
)";

constexpr std::string_view kQwen25 =
    R"({% if messages[0].role != 'system' %}
{{ '<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n' }}
{%- endif %}
{% for message in messages %}
{{ '<|im_start|>' ~ message.role ~ '\n' ~ message.content ~ '<|im_end|>\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{%- endif %}
)";

// Reasoning is kept only after the last user message; the last turn has it even if empty.
constexpr std::string_view kQwen3 =
    R"({% set last = namespace(question=messages | length - 1, found=false) %}
{% for message in messages[::-1] %}
{% if not last.found and message.role == 'user' %}
{% set last.question = messages | length - 1 - loop.index0 %}
{% set last.found = true %}
{% endif %}
{% endfor %}
{% for message in messages %}
{% set turn = namespace(answer=message.content, thought='') %}
{% if message.role == 'assistant' %}
{% if message.reasoning_content is string %}
{% set turn.thought = message.reasoning_content %}
{% elif '</think>' in message.content %}
{% set turn.thought = message.content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
{% set turn.answer = message.content.split('</think>')[-1].lstrip('\n') %}
{% endif %}
{% if loop.index0 > last.question and (loop.last or turn.thought) %}
{% set turn.answer = '<think>\n' ~ turn.thought.strip('\n') ~ '\n</think>\n\n' ~ turn.answer.lstrip('\n') %}
{% endif %}
{% endif %}
{{ '<|im_start|>' ~ message.role ~ '\n' ~ turn.answer ~ '<|im_end|>\n' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}
{{ '<think>\n\n</think>\n\n' }}
{%- endif %}
{% endif %}
)";

constexpr std::string_view kLlama3 =
    R"({% for message in messages %}
{{ bos_token if loop.first }}
{{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\n\n' ~ message.content | trim ~ '<|eot_id|>' }}
{%- endfor %}
{% if add_generation_prompt %}
{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}
{%- endif %}
)";

constexpr std::string_view kEmpty = "{% for message in messages %}{{ message.content }}{% endfor %}";

constexpr auto kTemplates = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"qwen2_5", kQwen25}, {"chatml", kChatml}, {"qwen3", kQwen3}, {"llama3", kLlama3}, {"empty", kEmpty}});

}  // namespace

std::string_view builtin_template(std::string_view name) {
  for (const auto& [known, source] : kTemplates)
    if (known == name) return source;
  return {};
}

std::vector<std::string> builtin_template_names() {
  std::vector<std::string> names;
  for (const auto& [name, source] : kTemplates) names.emplace_back(name);
  return names;
}

}  // namespace roll
