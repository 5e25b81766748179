"""Which metrics of a run `roll metrics` does not know."""
import functools
import re
import subprocess


@functools.cache
def known(binary):
    table = subprocess.run([binary, "metrics", "--markdown"], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"^\| `([^`]+)` \| .* \| (.+) \|$", table, re.MULTILINE)
    assert len(rows) > 50, table
    pattern = lambda name: re.escape(name).replace(r"\*", "[^/]*")
    return re.compile("|".join(("([^/]+/)?" if words.endswith("by domain") else "") + pattern(name) for name, words in rows))


def unknown_metrics(binary, metrics):
    """`metrics`: names, as metrics.jsonl has them."""
    return sorted(name for name in metrics if name != "step" and not known(str(binary)).fullmatch(name))
