"""Expectations of which a test looks at all, not only up to the first that does not hold."""
import sys

failures = 0


def expect(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAILED:", what)


def finish(name):
    """Ends the test."""
    print(f"{name}:", "all as it should be" if failures == 0 else f"{failures} failures")
    sys.exit(failures != 0)
