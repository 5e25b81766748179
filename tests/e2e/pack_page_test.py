#!/usr/bin/env python3
"""Looks at the page of `roll pack-stats --html` in headless Chromium: it loads nothing, holds its charts, and nothing sticks
out, wide or narrow. Argument: the roll binary; a second one, if given, names a folder to keep page and screenshots in."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from replay import PACKED, SHARP, config_text, roll

PROBE = """<script>
const all = [...document.querySelectorAll('body *')], width = document.documentElement.clientWidth;
const outside = all.filter(e => !e.closest('.scroll') && (e.getBoundingClientRect().right > width + 1 || e.getBoundingClientRect().left < -1));
const inner = (child, parent) => [...document.querySelectorAll(child)].filter(e => {
  const a = e.getBoundingClientRect(), b = e.closest(parent).getBoundingClientRect();
  return a.right > b.right + 1 || a.left < b.left - 1 || a.bottom > b.bottom + 1 || a.top < b.top - 1; }).length;
const height = e => e.getBoundingClientRect().height;
const report = {
  width, loaded: performance.getEntriesByType('resource').length, outside: outside.map(e => e.outerHTML.slice(0, 80)),
  title: document.title, sections: [...document.querySelectorAll('h2')].map(e => e.textContent),
  bins: document.querySelectorAll('#lengths i').length, highest: Math.max(...[...document.querySelectorAll('#lengths i')].map(height)),
  lanes: document.querySelectorAll('.lane').length, fills: [...document.querySelectorAll('.fills i')].map(e => height(e.firstChild) / height(e)),
  blocks: document.querySelectorAll('.track i').length, spilled: inner('.fills b', '.fills') + inner('.track i', '.track') + inner('#lengths i', '#lengths'),
  text: document.body.innerText };
document.body.innerHTML = ''; document.body.append(JSON.stringify(report));
</script>"""


def starts(chromium):
    """Some machines have one that needs what they lack (a snap, name spaces)."""
    with tempfile.TemporaryDirectory() as profile:
        try:
            return "<p>hello" in browse(chromium, profile, "--dump-dom", "data:text/html,<p>hello")
        except (OSError, subprocess.SubprocessError):
            return False


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path and starts(path):
            return path
    print("SKIPPED: no chromium is installed, or none starts, so nobody has looked at the page (apt-get install chromium)")
    sys.exit(77)


def browse(chromium, profile, *arguments):
    return subprocess.run([chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}", *arguments],
                          capture_output=True, text=True, timeout=200, check=True).stdout


def look(chromium, folder, page, width):
    """What the probe found in the page at this width."""
    probed = folder / "probed.html"
    probed.write_text(page.read_text().replace("</body>", PROBE + "</body>"))
    dom = browse(chromium, folder / "profile", f"--window-size={width},1000", "--dump-dom", probed.as_uri())
    text = re.search(r"<body>(.*)</body>", dom, re.S).group(1)
    for entity, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&nbsp;", " "), ("&amp;", "&")):
        text = text.replace(entity, sign)
    return json.loads(text)


def main():
    chromium = find_chromium()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kept = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder
        roll("init-model", "--arch", "qwen2", "--hidden", 32, "--intermediate", 64, "--layers", 2, "--heads", 4, "--kv-heads", 2,
             "--tokenizer", "builtin", "--seed", 3, "--out", folder / "model")
        (folder / "a<b>.yaml").write_text(config_text(
            out=folder / "out", model=folder / "model", data=folder / "none.jsonl", mode="token-mean", estimator="gae", rows=8,
            accumulation=1, packing=PACKED.format("load_balance", 160), extra="", adam=SHARP))
        (folder / "lengths.txt").write_text("".join(f"{5 + (i * i * 31) % 67}\n" for i in range(64)))
        page = kept / "page.html"
        roll("pack-stats", "--config", folder / "a<b>.yaml", "--lengths", folder / "lengths.txt", "-n", 4, "--html", page,
             "rollout_batch_size=16")
        for width in (1200, 500):
            seen = look(chromium, folder, page, width)
            assert seen["loaded"] == 0, "the page loads something"
            assert seen["title"].endswith("a<b>.yaml"), seen["title"]
            assert seen["outside"] == [] and seen["spilled"] == 0, (seen["outside"], seen["spilled"])
            assert seen["sections"] == ["Lengths", "train: actor_train, critic", "forward: reference", "forward: actor_train, critic",
                                        "Training budgets", "Terms"], seen["sections"]
            assert 20 <= seen["bins"] <= 48 and seen["highest"] > 100, seen
            assert seen["lanes"] == 4 * 2 * (2 + 1 + 2), seen["lanes"]  # ranks x (fills, times) x (two algorithms, none packed, two)
            assert len(seen["fills"]) == seen["blocks"] and 0 < min(seen["fills"]) <= max(seen["fills"]) <= 1.001, seen["fills"]
            assert "load_balance" in seen["text"] and "suggested" in seen["text"]
            browse(chromium, folder / "profile", f"--window-size={width},2400", "--hide-scrollbars", f"--screenshot={kept}/page_{width}.png", page.as_uri())
            assert (kept / f"page_{width}.png").stat().st_size > 20_000
            print(f"{seen['width']} pixels wide: {seen['bins']} columns, {len(seen['fills'])} micro-batches, nothing sticks out")


main()
