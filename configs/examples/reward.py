"""A reward program: a line of JSON in, a line of JSON out, until its input ends. What it prints for people goes to sys.stderr."""
import json
import sys

for line in sys.stdin:
    question = json.loads(line)  # id, prompt, messages, response, ground_truth, tag, domain, finish_reason, num_response_tokens, row
    right = question["ground_truth"] in question["response"]
    print(json.dumps({"id": question["id"], "reward": float(right), "detail": {"found": right}}), flush=True)
