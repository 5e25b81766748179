"""An environment program: a line of JSON in, a line of JSON out, until its input ends. Guess the digit; a program and a plug-in
(my_environment.cpp) of the same game. What it prints for people goes to sys.stderr."""
import json
import sys

for line in sys.stdin:
    question = json.loads(line)  # id, method, and with a reset seed and config, with a step message
    answer = {"id": question["id"]}
    if question["method"] == "reset":
        secret = question["seed"] * int(question["config"].get("factor", 7)) % 10
        answer |= {"instruction": "I have a digit in mind.", "observation": "Which is it?"}
    elif question["method"] == "step":
        digits = [c for c in question["message"] if c in "0123456789"]
        right = bool(digits) and int(digits[-1]) == secret
        says = "Yes." if right else "No digit." if not digits else "More." if int(digits[-1]) < secret else "Less."
        answer |= {"observation": says, "reward": float(right), "done": right, "valid": bool(digits), "success": right}
    print(json.dumps(answer), flush=True)
