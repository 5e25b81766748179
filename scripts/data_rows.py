"""ROLL's JSON-lines columns, for the scripts that make rows."""
import json


def row(name, source, prompt, ground_truth, tag, domain=None):
    """`domain`: a column of that name, where it is given."""
    return {"id": name} | ({"domain": domain} if domain else {}) | {
        "source": source,
        "difficulty": 0.0,
        "prompt": prompt,
        "messages": json.dumps([{"role": "user", "content": prompt}]),
        "ground_truth": ground_truth,
        "case_type": "",
        "test_case_function": "",
        "test_cases": "",
        "tag": tag,
    }


def write(path, rows):
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    print(f"{path}: {len(rows)} rows")
