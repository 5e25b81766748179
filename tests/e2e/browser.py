"""A page in headless Chromium, driven by its DevTools protocol over two pipes (no library, no port)."""
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 120


class Browser:
    """with Browser(path) as browser: ..."""

    def __init__(self, path):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self.to = os.pipe()
        self.come, answers = os.pipe()
        # Chromium reads commands from 3 and answers on 4; a shell puts them there.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$0" "$@" 3<&{commands} 4>&{answers}', path, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(answers)
        self.rest, self.events, self.number, self.session = b"", [], 0, None
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to)  # it ends when nobody can command it
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.come)
        self.profile.cleanup()

    def read(self):
        """The next message."""
        deadline = time.monotonic() + PATIENCE_S
        while b"\0" not in self.rest:
            if not select.select([self.come], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError("chromium does not answer")
            piece = os.read(self.come, 1 << 20)
            if not piece:
                raise EOFError("chromium has ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params} | ({"sessionId": self.session} if self.session else {})
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            got = self.read()
            if got.get("id") == self.number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def open(self, url, width, dark=False, height=900):
        """Loads a page; returns when it has loaded and drawn."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events = []
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.read())
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def evaluate(self, script):
        got = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{script}: {got['exceptionDetails'].get('exception', {}).get('description', got['exceptionDetails'])}")
        return got["result"].get("value")

    def complaints(self):
        """What the page's console holds of errors, and its exceptions, since it was opened."""
        self.evaluate("0")
        found = [e["params"] for e in self.events if e.get("method") == "Runtime.exceptionThrown"]
        found += [e["params"]["args"] for e in self.events if e.get("method") == "Runtime.consoleAPICalled" and e["params"]["type"] in ("error", "warning")]
        return found + [e["params"]["entry"] for e in self.events if e.get("method") == "Log.entryAdded" and e["params"]["entry"]["level"] == "error"]

    def requests(self):
        """What the page asked for, itself included."""
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def press(self, key):
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, file, whole=True):
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]))


def find_chromium():
    """The program; ends the test as skipped where there is none that starts (some want what containers lack)."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if not path:
            continue
        try:
            with Browser(path) as browser:
                if browser.evaluate("1 + 1") == 2:
                    return path
        except (OSError, EOFError, RuntimeError, StopIteration):
            continue
    print("SKIPPED: no chromium is installed, or none starts, so nobody has looked at the page (apt-get install chromium)")
    sys.exit(77)
