#!/usr/bin/env python3
"""The page of `roll report` in a real browser: nothing is loaded, nothing complains or sticks out at 400 and 1280 pixels, dark and
light; charts, their keys, the chooser of steps and the tokens' colours work; what a response says stays text. Argument: the roll
binary; a second one, if given, names a folder to keep pages and screenshots in."""
import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import turns
from browser import Browser, find_chromium
from replay import binary, record, roll, train

EVIL = "</script><script>window.injected = 1</script><img src=x onerror=\"window.injected = 2\"><!--\u2028\u2029 & {{x}} `${1}`"
OUTSIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll, nav, svg') &&
  e.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(e => e.outerHTML.slice(0, 80))"""


def report(*arguments):
    """Builds a page; its path, as the program says it."""
    return pathlib.Path(roll("report", *arguments).strip().splitlines()[-1])


def make_evil(run):
    """Every response of the last two steps, and its prompt, try to be markup."""
    for file in (run / "rollouts/step_000002.jsonl", run / "rollouts/step_000003.jsonl"):
        lines = [json.loads(line) | {"response": EVIL, "prompt": EVIL, "ground_truth": EVIL} for line in open(file)]
        file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def choose(browser, label, value):
    """What a person does with the select box behind this label."""
    browser.evaluate(f"""(() => {{ const label = [...document.querySelectorAll('label')].find(l => l.textContent.startsWith({json.dumps(label)}));
        const box = label.querySelector('select'); box.value = {json.dumps(value)}; box.dispatchEvent(new Event('change')); }})()""")


def check_page(browser, page, kept, name):
    for width in (1280, 400):
        for dark in (False, True):
            browser.open(page.as_uri(), width, dark)
            what = f"{name}, {width} px, {'dark' if dark else 'light'}"
            assert browser.complaints() == [], (what, browser.complaints())
            assert browser.requests() == [page.as_uri()], (what, browser.requests())
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, (what, browser.evaluate(OUTSIDE))
            assert browser.evaluate(OUTSIDE) == [], (what, browser.evaluate(OUTSIDE))
            colours = browser.evaluate("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
            light = [sum(map(int, c[4:-1].split(","))) for c in colours]
            assert (light[0] < light[1]) == dark, (what, colours)
            assert browser.evaluate("window.injected") is None, what
            browser.screenshot(kept / f"{name}_{width}_{'dark' if dark else 'light'}.png")


def check_charts(browser):
    ticks = browser.evaluate("[[1, 48, 1.9], [1, 48, 6], [3, 9, 1], [1, 2, 8], [1001, 1049, 2], [7, 7, 3]].map(range => xTicks(...range))")
    assert [len(of_range) >= 2 for of_range in ticks] == [True] * 5 + [False], ticks  # also on a narrow page
    assert all(isinstance(tick, int) for of_range in ticks for tick in of_range), ticks
    charts = browser.evaluate("""[...document.querySelectorAll('figure')].map(f => [f.querySelector('h3').textContent,
        f.querySelector('svg[role=img]').getAttribute('aria-label'), [...f.querySelectorAll('.curve, .area')].map(p => (p.getAttribute('d') ?? p.getAttribute('points')).length)])""")
    titles = [title for title, _, _ in charts]
    for wanted in ("Score", "KL to the reference", "Entropy", "Response length", "How responses end", "Gradient norm", "Time of a step",
                   "Tokens per second", "Memory", "Memory by phase", "Distribution of rewards", "Distribution of advantages"):
        assert wanted in titles, (wanted, titles)
    for title, label, paths in charts:
        if title.startswith("Distribution"):
            assert "by step" in label and "half of them below" in label and "step 1" in label and "step 3" in label, (title, label)
        else:
            assert "by step" in label and "first" in label and paths and min(paths) > 10, (title, label, paths)
    phases = next(label for title, label, _ in charts if title == "Memory by phase")
    for phase in ("forwards", "advantages", "train"):
        assert f"{phase}: first" in phases, phases
    check_spreads(browser)
    check_axis(browser)


    for low, high in ((1e-6, 1e3), (0.1, 0.9), (3e-4, 0.05), (7, 2e4)):
        ticks = browser.evaluate(f"logTicks({low}, {high})")
        assert 2 <= len(ticks) <= 7 and ticks == sorted(ticks) and low * 0.99 <= ticks[0] and ticks[-1] <= high * 1.01, (low, high, ticks)


def figure(title):
    return f"[...document.querySelectorAll('figure')].find(f => f.querySelector('h3').textContent === {json.dumps(title)})"


def check_spreads(browser):
    """All that the step had is in its column, and the bars are the picked step's."""
    legend = f"{figure('Distribution of rewards')}.querySelector('.legend').textContent"
    data = browser.evaluate("data.runs[0].histograms.rewards")
    last = sum(count for _, _, count in data["b"][-1])
    assert data["s"] == [1, 2, 3] and f"{last} responses" in browser.evaluate(legend) and "step 3" in browser.evaluate(legend), (data, browser.evaluate(legend))
    cells = browser.evaluate(f"{figure('Distribution of rewards')}.querySelectorAll('.cell').length")
    assert cells == sum(map(len, data["b"])) + len(data["b"][-1]), (cells, data)
    browser.evaluate(f"{figure('Distribution of rewards')}.querySelector('.plot').focus()")
    browser.press("Home")
    assert "step 1" in browser.evaluate(legend), browser.evaluate(legend)


def check_axis(browser):
    """Curves along tokens and hours, with the checkpoints where they stand."""
    run = browser.evaluate("({metrics: data.runs[0].metrics['system/num_tokens'], axes: data.runs[0].axes, checkpoints: data.runs[0].checkpoints})")
    tokens = [sum(run["metrics"]["v"][:i + 1]) for i in range(3)]
    assert run["axes"]["tokens"]["v"] == tokens, run
    assert run["checkpoints"] == [3], run
    for axis, words in (("tokens", "by tokens"), ("hours", "by hours of training")):
        choose(browser, "Along", axis)
        label = f"{figure('Score')}.querySelector('svg[role=img]').getAttribute('aria-label')"
        assert words in browser.evaluate(label), browser.evaluate(label)
        assert "step 3" in browser.evaluate(f"{figure('Score')}.querySelector('.legend').textContent")
        assert browser.evaluate(f"{figure('Score')}.querySelector('.mark title').textContent") == "checkpoint of step 3"
    places = browser.evaluate("[1, 2, 3].map((state.axis = 'tokens', placeOf(data.runs[0])))")
    assert all(abs(a - b) < 1e-6 * b for a, b in zip(places, tokens)), (places, tokens)
    choose(browser, "Along", "steps")
    assert "▲ saved checkpoints: step 3" in browser.evaluate("document.querySelector('section[aria-labelledby=learning]').innerText")


def check_keys(browser):
    """The arrow keys say the values of earlier steps."""
    legend = "document.querySelector('figure .legend').textContent"
    browser.evaluate("document.querySelector('.plot').focus()")
    before = browser.evaluate(legend)
    browser.press("Home")
    assert "step 1" in browser.evaluate(legend) and browser.evaluate(legend) != before, (before, browser.evaluate(legend))


def check_responses(browser, run):
    lines = [json.loads(line) for line in open(run / "rollouts/step_000002.jsonl")]
    choose(browser, "Step", "2")
    texts = browser.evaluate("[...document.querySelectorAll('.response pre, .response .tokens')].map(e => e.textContent)")
    assert EVIL in texts, texts[:2]
    assert browser.evaluate("window.injected") is None and browser.evaluate("document.querySelectorAll('#page script, #page img').length") == 0
    badges = browser.evaluate("[...document.querySelectorAll('.response .badge')].map(e => e.textContent)")
    best = max(line["score"] for line in lines)
    assert f"score {best:g}" in badges and any("truncated" in b for b in badges), badges


def check_validation(browser, folder, run):
    """What became of each prompt, told from the validations' files; what nobody wrote has no section."""
    copy = folder / "validated"
    shutil.copytree(run, copy)
    lines = [json.loads(line) for line in open(run / "rollouts/step_000001.jsonl")]
    lines = [line | dict(group_index=line["group_index"] + more) for more in (0, 100) for line in lines]
    prompts = sorted({line["group_index"] for line in lines})
    assert len(prompts) > 7 and len({line["domain"] for line in lines}) == 1, prompts
    for step, right in ((0, prompts[:2]), (1, prompts[:1]), (3, prompts[1:3]), (9, prompts)):  # the run is at step 3
        (copy / f"rollouts/val_{step:06}.jsonl").write_text("".join(json.dumps(line | dict(
            step=step, score=float(line["group_index"] in right), response=f"said {max(step, 1)}", prompt=EVIL,
            ground_truth=f"truth {prompts.index(line['group_index'])}")) + "\n" for line in lines))
    values = {"val_score/all/mean": 0.5, "val_score/all/se": 0.1}
    (copy / "metrics.jsonl").write_text("".join(json.dumps(json.loads(line) | values) + "\n" for line in open(run / "metrics.jsonl")))
    browser.open(report(copy).as_uri(), 400)
    said, bars = browser.evaluate(f"(f => [f.querySelector('.legend').textContent, f.querySelectorAll('.error').length])({figure('Score')})")
    assert "validation 0.5 ± 0.1" in said and bars == 3, (said, bars)
    assert browser.complaints() == [] and browser.evaluate("document.documentElement.scrollWidth") <= 400
    assert browser.evaluate("window.injected") is None
    section = "document.querySelector('section[aria-labelledby=validation]')"
    browser.evaluate(f"{section}.querySelectorAll('details').forEach(d => d.open = true)")
    text = browser.evaluate(f"{section}.innerText")
    rest = len(prompts) - 3
    for said in (f"{len(prompts)} prompts, first response to each, 3 validations: 1 wrong at first, right now; 1 right at first, wrong now; "
                 f"{rest} wrong at first and now; 1 right at first and now.", "wrong at first, right now (1 of 1 shown)", f"wrong at first and now (4 of {rest} shown)",
                 "before training and after step 1", "after step 3"):
        assert said in text, (said, text)
    fates = browser.evaluate(f"[...{section}.querySelectorAll('details')].map(d => [d.querySelector('summary').textContent, d.innerText])")
    truths = [re.findall(r"truth \d+", text) for _, text in fates]
    assert truths[:2] == [["truth 2"], ["truth 0"]] and truths[3] == ["truth 1"], fates
    assert EVIL in browser.evaluate(f"{section}.querySelector('pre').textContent")
    browser.open(report(run).as_uri(), 400)
    assert not browser.evaluate(f"Boolean({section})")


def check_tokens(browser, run):
    """Tokens are coloured by what is chosen, and a tap or a key says the numbers of samples/."""
    browser.open(report(run).as_uri(), 400)
    shares = "[...document.querySelectorAll('.tokens span')].map(e => parseFloat(e.style.getPropertyValue('--share')))"
    advantages = browser.evaluate(shares)
    assert max(advantages) == 75 and min(advantages) < 75, advantages
    choose(browser, "Colour tokens by", "sampler")
    assert browser.evaluate(shares) != advantages
    samples = [json.loads(line) for line in open(run / "samples/step_000002.jsonl")]
    tokens = browser.evaluate("[...document.querySelector('.tokens').querySelectorAll('span')].map(e => e.textContent)")
    log_probs = next(line["sampler_log_probs"] for line in samples if line["tokens"] == tokens)

    def check_said(number, log_prob):
        said = browser.evaluate("document.querySelector('.readout').textContent")
        found = re.search(rf"token {number} of {len(tokens)} .*log-prob, sampler (-?[0-9.e-]+)", said)
        assert found and abs(float(found[1]) - log_prob) <= 1e-3 * abs(log_prob), (said, log_prob)

    browser.evaluate("document.querySelector('.tokens span').click()")
    check_said(1, log_probs[0])
    browser.evaluate("document.querySelector('.tokens').focus()")
    browser.press("End")
    check_said(len(tokens), log_probs[-1])
    choose(browser, "Colour tokens by", "")
    assert browser.evaluate("document.querySelectorAll('.tokens').length") == 0


def check_turns(browser, folder):
    """Of a trajectory what an environment said is told apart, and where a turn had a prompt of its own, that."""
    game = dict(env_type="guess_the_number", max_steps=3, max_tokens_per_step=4, env_config=dict(env_instruction="", action_pattern="(none)"))
    for manager, told, badge in (("TrajEnvManager", "the environment's message after turn 1, then turn 2", "3 turns"),
                                 ("StepEnvManager", "turn 2, with a separate prompt: the model sees nothing of the text above", "3 turns, each with a separate prompt")):
        roll("train", "--config", turns.run_config(folder, manager, dict(Number=game | dict(env_manager_cls=manager)), 1200), "--device", "cpu", "eval_steps=0")
        browser.open(report(folder / manager).as_uri(), 400)
        assert browser.complaints() == [] and browser.evaluate("document.documentElement.scrollWidth") <= 400
        assert badge in browser.evaluate("[...document.querySelectorAll('.response .badge')].map(e => e.textContent)"), manager
        marks = browser.evaluate("[...document.querySelector('.tokens').querySelectorAll('.turn')].map(e => e.textContent)")
        assert marks == [told, told.replace("2", "3").replace("1", "2")], marks
        tokens = browser.evaluate("[...document.querySelector('.tokens').children].map(e => [e.textContent, e.className])")
        lines = [json.loads(line) for line in open(folder / manager / "samples/step_000002.jsonl")]
        sample = next(line for line in lines if line["tokens"] == [text for text, kind in tokens if kind != "turn"])
        told = [told for turn in turns_of(folder / manager, sample) for told in [False] * turn["tokens"] + [True] * turn["environment_tokens"]]
        assert told == ["told" in kind for _, kind in tokens if kind != "turn"] and any(told), (told, tokens)
        starts = [i - sum(kind == "turn" for _, kind in tokens[:i]) for i, (_, kind) in enumerate(tokens) if kind == "turn"]
        assert all(told[start] and not told[start - 1] for start in starts), (starts, told)


def turns_of(run, sample):
    return next(line["turns"] for line in map(json.loads, open(run / "rollouts/step_000002.jsonl"))
                if (line["group_index"], line["sample_index"]) == (sample["group_index"], sample["sample_index"]))


def check_absences(browser, folder, run, kept):
    """Runs that lack something have a page that says so."""
    for name, change, said in (
            ("half a line", lambda r: (r / "metrics.jsonl").open("a").write('{"step": 4, "actor/kl'), "not finished"),
            ("no rollouts", lambda r: shutil.rmtree(r / "rollouts"), "There are no rollouts"),
            ("no metrics", lambda r: (r / "metrics.jsonl").unlink(), "There is no metrics.jsonl"),
            ("no configuration", lambda r: (r / "config.resolved.yaml").unlink(), "There is no config.resolved.yaml"),
            ("broken rollouts", lambda r: (r / "rollouts/step_000001.jsonl").open("a").write("{oops\n"), "1 line of step_000001.jsonl could not be read"),
            ("a warning", lambda r: (r / "log.txt").open("a").write("[rank 0] warning: step 3: odd <b>thing</b>\n"), "odd <b>thing</b>")):
        copy = folder / name
        shutil.copytree(run, copy)
        change(copy)
        browser.open(report(copy).as_uri(), 400)
        text = browser.evaluate("document.body.innerText")
        assert browser.complaints() == [] and said in text, (name, browser.complaints(), text[:500])


def check_sft(browser, folder, kept):
    (folder / "sft.jsonl").write_text("".join(json.dumps({"prompt": f"{i}+1=", "response": str(i + 1)}) + "\n" for i in range(16)))
    (folder / "sft.yaml").write_text(f"""output_dir: {folder}/sft\npretrain: {folder}/model\nmax_steps: 3\nsequence_length: 64
sft_train:\n  training_args: {{learning_rate: 1.0e-3, per_device_train_batch_size: 4}}\n  data_args: {{file_name: {folder}/sft.jsonl, prompt: prompt, response: response}}\n""")
    roll("sft", "--config", folder / "sft.yaml")
    check_page(browser, report(folder / "sft"), kept, "sft")
    text = browser.evaluate("document.body.innerText")
    assert "Loss" in text and "roll sft does not sample responses" in text and "There are no rollouts in" not in text, text[:500]


def check_several(browser, folder, run, kept):
    other = train(folder, "other", rollout_replay=run / "rollouts", max_steps=2, pg_clip=0.3)
    check_page(browser, report(run, other, "--out", folder / "both.html"), kept, "several")
    names = browser.evaluate("[...document.querySelectorAll('header tbody tr td:first-child')].map(e => e.textContent.replace('■ ', ''))")
    assert names == [run.name, "other"], names
    browser.evaluate("[...document.querySelectorAll('#page details')].forEach(d => d.open = true)")
    rows = browser.evaluate("[...document.querySelectorAll('#page details table')][0].innerText")
    assert "pg_clip" in rows and "0.3" in rows and "seed" not in rows, rows
    curves = browser.evaluate("document.querySelector('figure').querySelectorAll('.curve').length")
    assert curves >= 2, curves


def status_of(url, host):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers={"Host": host}), timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code


def check_held_connections(url):
    """Those who say nothing, or half a request, keep nobody waiting: we are answered before the first of them is sent away."""
    place = ("127.0.0.1", int(url.rstrip("/").rsplit(":", 1)[1]))
    held = [socket.create_connection(place) for _ in range(60)]
    try:
        for half in held[:30]:
            half.sendall(b"GET / HTTP/1.1\r\n")
        assert status_of(url + "data.json", "localhost") == 200
        gone = 0
        for connection in held:
            connection.setblocking(False)
            try:
                connection.recv(1)
                gone += 1
            except BlockingIOError:
                pass
        assert gone < len(held) / 2, f"{gone} of {len(held)} had to go before anybody was answered"
    finally:
        for connection in held:
            connection.close()


def check_serve(browser, folder, run):
    """The served page takes up what the run writes, stays when the folder goes, and is nobody else's."""
    live = folder / "live"
    shutil.copytree(run, live)
    process = subprocess.Popen([binary, "report", str(live), "--serve", "0"], stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        browser.open(url, 1280)
        legend = "document.querySelector('figure .legend').textContent"
        assert browser.complaints() == [] and "step 3" in browser.evaluate(legend), (browser.complaints(), browser.evaluate(legend))
        last = json.loads((live / "metrics.jsonl").read_text().splitlines()[-1])
        with (live / "metrics.jsonl").open("a") as file:
            file.write(json.dumps(last | {"step": 4}) + "\n")
        deadline = time.monotonic() + 60
        while "step 4" not in browser.evaluate(legend):
            assert time.monotonic() < deadline, browser.evaluate(legend)
            browser.evaluate("follow()")
        check_held_connections(url)
        assert status_of(url, "localhost") == 200 and status_of(url + "data.json", "elsewhere.example") == 403
        shutil.rmtree(live)
        browser.evaluate("follow()")
        while (status := status_of(url + "data.json", "localhost")) != 503:  # what was made last is kept for a while
            assert status == 200 and time.monotonic() < deadline, status
        assert "step 4" in browser.evaluate(legend)
    finally:
        process.terminate()
        process.wait()


def main():
    chromium = find_chromium()
    with tempfile.TemporaryDirectory() as name, Browser(chromium) as browser:
        folder = pathlib.Path(name)
        kept = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder
        run = record(folder).parent
        make_evil(run)
        page = report(run)
        assert page == run / "report.html", page
        check_page(browser, page, kept, "run")
        check_charts(browser)
        check_keys(browser)
        check_responses(browser, run)
        check_validation(browser, folder, run)
        check_several(browser, folder, run, kept)
        check_tokens(browser, folder / "other")
        check_turns(browser, folder)
        check_sft(browser, folder, kept)
        check_serve(browser, folder, run)
        check_absences(browser, folder, run, kept)
    print("the pages of a run, of several, of roll sft and of runs that lack something are as they should be")


main()
