"""The tests on a sandbox server, which runs one program at a time: this script runs them, and the program under test in a
child that began before the tests were read. The child's output goes nowhere, and it may neither trace nor read its parent.
"""
import ctypes
import os
import signal
import socket
import sys

PR_SET_DUMPABLE = 4


def run_remotely(source):
    """The tests are on standard input. `source`: None where they are about a text."""
    prelude = {}
    exec(PRELUDE, prelude)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    mine = child = None
    if source is not None:
        mine, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nothing, number)
            channel = socket.socket(fileno=os.dup2(theirs.detach(), 3))
            os.closerange(4, 1024)
            try:
                sys.setrecursionlimit(600000)
                serve_solution(channel, source, prelude)
            finally:
                os._exit(0)
        theirs.close()
    run_tests(mine, json.load(sys.stdin), prelude)
    if child:
        os.kill(child, signal.SIGKILL)
    os._exit(0)


def run_together_remotely(source):
    """As plain Python runs them."""
    prelude = {}
    exec(PRELUDE, prelude)
    sys.setrecursionlimit(600000)
    run_together(source, json.load(sys.stdin), prelude)
    os._exit(0)
