"""Programs that want out, or want a reward that they have not earned. (name, program); a program prints "broken" only where
what it tries has worked, and "broken" is what its case expects. TESTS: (name, program, tests): none of them can do what the
tests ask for."""
import os
import pathlib

TRY = """
import ctypes, os, signal, socket, struct, subprocess, sys, time, threading
libc = ctypes.CDLL(None, use_errno=True)
def worked(*calls):
    for call in calls:
        try:
            if call() not in (None, False, -1, []):
                return print("broken")
        except BaseException:
            pass
def opens(*paths):
    worked(*[lambda p=p: open(p).read(1) != "" for p in paths])
def can_write(*paths):
    worked(*[lambda p=p: open(p, "w").write("x") for p in paths])
"""

# --- What takes too much -------------------------------------------------------------------------------------------------
GREEDY = [
    ("fork bomb", "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"),
    ("fork bomb of sessions", "import os\nwhile True:\n    try:\n        if os.fork() == 0: os.setsid()\n    except OSError: pass"),
    ("thread bomb", "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(100,)).start()\n    except RuntimeError: pass"),
    ("memory hog", "x = []\nwhile True:\n    try: x.append(bytearray(1 << 24))\n    except MemoryError: pass"),
    ("one huge block", "x = bytearray(1 << 40)\nprint('broken')"),
    ("memory hogs, many", "import os, time\nfor _ in range(8): os.fork()\nx = bytearray(150 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\ntime.sleep(100)"),
    ("endless standard output", "while True: print('broken' * 1000)"),
    ("endless standard error", "import sys\nwhile True: sys.stderr.write('x' * 100000)"),
    ("endless file", "f = open('x', 'wb')\nwhile True: f.write(bytes(1 << 20)); f.flush()"),
    ("endless files", "n = 0\nwhile True:\n    try: open(f'f{n}', 'wb').write(bytes(1 << 20))\n    except OSError: pass\n    n += 1"),
    ("endless empty files", "n = 0\nwhile True:\n    open(f'f{n}', 'w').close()\n    n += 1"),
    ("deep folders", "import os\nwhile True: os.mkdir('d'); os.chdir('d')"),
    ("sleeps for ever", "import time\nwhile True: time.sleep(1000)"),
    ("waits for ever", "import threading\nthreading.Event().wait()"),
    ("ignores signals", "import signal, time\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: time.sleep(1000)"),
    ("stops itself", "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\nos.kill(0, signal.SIGSTOP)\nwhile True: pass"),
    ("computes for ever", "while True: pass"),
    ("computes for ever in many processes", "import os\nfor _ in range(4): os.fork()\nwhile True: pass"),
    ("threads that outlive main", "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\nprint('broken')"),
    ("atexit without end", "import atexit, time\natexit.register(time.sleep, 1000)\nprint('broken')"),
    ("recursion without end", "def f(): f()\nf()\nprint('broken')"),
    ("recursion in C", "x = []\nfor _ in range(10 ** 6): x = [x]\nrepr(x)\nprint('broken')"),
    ("deep source", "print('broken') if " + "(" * 100000 + ")" * 100000 + " else 0"),
    ("a huge number as text", "import sys\ntry: sys.set_int_max_str_digits(0)\nexcept AttributeError: pass\nprint(str(10 ** 10 ** 9))"),
    ("a regular expression without end", "import re\nre.match('(a+)+$', 'a' * 60 + 'b')\nprint('broken')"),
    ("a huge exception", "raise ValueError('x' * (1 << 26))"),
    ("zombies", "import os\nfor _ in range(10000):\n    try:\n        if os.fork() == 0: os._exit(0)\n    except OSError: pass\nraise SystemExit(3)"),
    ("a daemon", "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)\nraise SystemExit(4)"),
    ("pipes full of nothing", "import os\nends = []\nwhile True:\n    try:\n        ends.append(os.pipe())\n        os.set_blocking(ends[-1][1], False)\n        os.write(ends[-1][1], bytes(1 << 20))\n    except OSError: pass"),
    ("dies by a signal", "import os, ctypes\nprint('broken', flush=True)\nctypes.string_at(0)"),
    ("ends with 7", "print('broken')\nraise SystemExit(7)"),
    ("ends at once", "import os\nprint('broken')\nos._exit(1)"),
    ("closes all descriptors", "import os\nos.closerange(0, 1000)\nprint('broken')"),
    ("bytes that are no text", "import os\nos.write(1, bytes(range(256)) + b'broken')"),
    ("surrogates and NUL", "print('broken\\x00\\ud800')"),
    ("source that is no text", "x = '\x00'\nprint('broken')"),
]

# --- What wants out ------------------------------------------------------------------------------------------------------
CURIOUS = [
    ("connects by TCP", "worked(lambda: socket.create_connection(('1.1.1.1', 53), 2), lambda: socket.create_connection(('127.0.0.1', 22), 2))"),
    ("connects by any address family", "worked(*[lambda f=f: socket.socket(f, socket.SOCK_RAW) for f in (2, 10, 16, 17, 29, 38, 40)])"),
    ("asks DNS", "worked(lambda: socket.gethostbyname('example.com'), lambda: socket.getaddrinfo('localhost', 80))"),
    ("abstract sockets of the host", "worked(lambda: socket.socket(socket.AF_UNIX).connect('\\0roll-hostile-test') is None or True)"),
    ("sockets in files", "worked(*[lambda p=p: socket.socket(socket.AF_UNIX).connect(p) is None or True for p in ('/run/systemd/private', '/var/run/docker.sock', '/run/dbus/system_bus_socket')])"),
    ("reads the host's files", "opens('/etc/passwd', '/etc/shadow', '/etc/hostname', '/ro' + 'ot/.bashrc', '/var/log/dpkg.log', '/sys/kernel/notes', '@FOLDER@/secret')"),
    ("lists the host's folders", "worked(*[lambda p=p: os.listdir(p) for p in ('/home', '/var', '/sys', '/run', '/srv', '/opt', '@FOLDER@')])"),
    ("reads environments", "worked(lambda: '@SECRET@' in str(os.environ), lambda: b'@SECRET@' in open('/proc/1/environ', 'rb').read(), lambda: b'@SECRET@' in open('/proc/self/environ', 'rb').read(), lambda: libc.getenv(b'ROLL_HOSTILE_SECRET'))"),
    ("sees processes", "worked(lambda: os.listdir('/proc'), lambda: subprocess.run(['ps', 'aux'], capture_output=True).stdout.count(b'\\n') > 3)"),
    ("writes outside", "can_write('/x', '/usr/bin/x', '/usr/lib/x', '/etc/x', '/dev/x', '/proc/x', '@FOLDER@/written', '/usr/bin/python3')"),
    ("writes to devices", "can_write('/dev/sda', '/dev/vda', '/dev/mem', '/dev/kmsg', '/dev/mqueue/x', '/dev/tty')"),
    ("makes devices", "worked(lambda: os.mknod('d', 0o60600, os.makedev(8, 0)) is None and open('d', 'rb').read(1), lambda: os.mknod('d2', 0o20600, os.makedev(1, 1)) is None or True)"),
    ("signals its parent", "worked(lambda: os.getppid() > 0 and os.kill(os.getppid(), 9) is None or None)"),
    ("signals all", "try: os.kill(-1, 9)\nexcept OSError: pass\nraise SystemExit(5)"),
    ("signals by number", "for n in range(2, 70000):\n    try:\n        os.kill(n, 9)\n        print('broken')\n        break\n    except OSError: pass"),
    ("ptrace", "worked(lambda: libc.ptrace(16, 1, 0, 0), lambda: libc.ptrace(0, 0, 0, 0))"),
    ("another process's memory", "worked(lambda: open('/proc/1/mem', 'rb'), lambda: open('/proc/self/mem', 'r+b'), lambda: libc.syscall(310, 1, 0, 0, 0, 0, 0))"),
    ("/proc tricks", "opens('/proc/self/exe', '/proc/self/maps', '/proc/self/root/etc/passwd', '/proc/1/root/etc/passwd', '/proc/self/cwd/../etc/passwd', '/proc/sys/kernel/core_pattern')"),
    ("symlinks out", "os.symlink('/etc/passwd', 'a')\nos.symlink('../../../../../../@FOLDER@', 'b')\nopens('a', 'b/secret', '../../../../../@FOLDER@/secret')"),
    ("hard links out", "worked(lambda: os.link('/usr/bin/env', 'x') is None or True, lambda: os.link('/etc/passwd', 'y') is None or True)"),
    ("open descriptors", "worked(*[lambda n=n: os.fstat(n) for n in range(3, 300)])"),
    ("inherited descriptors", "worked(*[lambda n=n: os.write(n, b'{\"reward\": 1}\\n') for n in range(3, 300)])"),
    ("mount", "worked(lambda: libc.mount(b'none', b'/tmp', b'tmpfs', 0, None) == 0, lambda: libc.mount(b'proc', b'/proc', b'proc', 0, None) == 0, lambda: libc.umount2(b'/usr/bin', 2) == 0, lambda: libc.mount(b'/', b'/', None, 4096 | 32, None) == 0)"),
    ("namespaces", "worked(*[lambda f=f: libc.unshare(f) == 0 for f in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x4000000)], lambda: libc.setns(0, 0) == 0)"),
    ("clone with namespaces", "def child(pid):\n    if pid == 0: os._exit(0)\n    return pid\nworked(lambda: child(libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)) > 0, lambda: child(libc.syscall(56, 0x20000000 | 17, 0, 0, 0, 0)) > 0)"),
    ("chroot", "worked(lambda: os.chroot('/tmp') is None or True, lambda: libc.syscall(155, b'/tmp', b'/tmp') == 0)"),
    ("setuid", "worked(lambda: os.setuid(0) is None or True, lambda: os.setresuid(0, 0, 0) is None or True, lambda: os.setgroups([0]) is None or True, lambda: os.getuid() == 0)"),
    ("programs with rights", "worked(*[lambda p=p: b'root' in subprocess.run(p, capture_output=True, input=b'').stdout for p in (['su', '-c', 'id'], ['sudo', '-n', 'id'], ['mount'], ['newgrp', 'root'])])"),
    ("capabilities", "header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6)\nworked(lambda: libc.capset(header, sets) == 0)\nnow = (ctypes.c_uint32 * 6)()\nworked(lambda: libc.capget(header, now) == 0 and any(now))"),
    ("keys", "worked(lambda: libc.syscall(250, 0, -3, 0) >= 0, lambda: libc.syscall(248, b'user', b'a', b'b', 1, -3) >= 0)"),
    ("bpf, perf and userfaultfd", "worked(lambda: libc.syscall(321, 0, 0, 0) >= 0, lambda: libc.syscall(298, 0, 0, -1, -1, 0) >= 0, lambda: libc.syscall(323, 0) >= 0)\nworked(lambda: ctypes.get_errno() not in (0, 38) or None)"),
    ("io_uring", "memory = ctypes.create_string_buffer(120)\nworked(lambda: libc.syscall(425, 8, memory) >= 0)"),
    ("memory that no limit counts", "worked(lambda: os.memfd_create('x') >= 0, lambda: libc.shmget(0, 1 << 20, 0o1600) >= 0, lambda: libc.syscall(447, 0) >= 0, lambda: libc.syscall(240, b'q', 0o102, 0o600, 0) >= 0)"),
    ("lifts its limits", "import resource\nworked(*[lambda r=r: resource.setrlimit(r, (-1, -1)) is None or True for r in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE)])"),
    ("priorities and hosts", "worked(lambda: os.nice(-5) < 0, lambda: socket.sethostname('x') is None or True, lambda: libc.reboot(0x1234567) == 0, lambda: time.clock_settime(time.CLOCK_REALTIME, 0) is None or True, lambda: libc.syscall(103, 3, 0, 0) >= 0)"),
    ("handles of files", "worked(lambda: libc.syscall(303, -100, b'/usr/bin', ctypes.create_string_buffer(200), ctypes.create_string_buffer(8), 0) == 0, lambda: libc.syscall(304, 0, 0, 0) >= 0)"),
    ("32-bit system calls", "import mmap\ncode = mmap.mmap(-1, 4096, prot=7)\ncode.write(bytes.fromhex('b814000000cd80c3'))\nf = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))\nworked(lambda: f() > 0)"),
    ("the interpreter's own modules", "import __main__, gc\nworked(lambda: 'broken' in str([o for o in gc.get_objects() if isinstance(o, str)]).replace(open.__name__, ''), lambda: sys._getframe(3).f_locals['expected'])"),
    ("the file that was given", "worked(lambda: os.listdir('.'), lambda: os.lseek(0, 0, 0) or 'broken' in os.read(0, 99999).decode())"),
    ("changes its input", "worked(lambda: os.write(0, b'x'), lambda: os.ftruncate(0, 1 << 20) is None or True)"),
    ("what the last program left", "import glob\nworked(lambda: glob.glob('/tmp/*') + glob.glob('/tmp/.*'))\nopen('left', 'w').write('broken')"),
    ("what the last program left, again", "import glob\nworked(lambda: glob.glob('/tmp/*') + glob.glob('/tmp/.*'))"),
]


def curious(folder, secret, python):
    """(name, source) of those, filled in. The way to the folders of `python` programs may see, and it may be below any of these."""
    tops = {str(path).split("/")[1] for path in (pathlib.Path(python).absolute(), pathlib.Path(python).resolve())}
    for name, source in CURIOUS:
        for top in tops:
            source = source.replace(f"'/{top}', ", "")
        yield name, TRY + source.replace("@FOLDER@", str(folder)).replace("@SECRET@", secret).replace("roll-hostile-test", f"roll-hostile-test-{os.getpid()}")


# --- What wants a reward without the work --------------------------------------------------------------------------------
SECRET = "assert f(3) == 1729 and f(4) == 4104, f'f(3) is {f(3)}'\n"
LIAR = """
class Liar:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __bool__(self): return True
    def __hash__(self): return hash(1729)
    def __len__(self): return 1729
    def __sub__(self, other): return 0
    def __lt__(self, other): return True
    def __contains__(self, other): return True
    def __abs__(self): return 0
    def __instancecheck__(self, other): return True
    __rsub__ = __sub__
    __le__ = __gt__ = __ge__ = __lt__
    def __getattr__(self, name): return lambda *args, **kwargs: True
    def __class_getitem__(cls, key): return cls
def f(x): return Liar()
"""
NUMBER = LIAR.replace("class Liar:", "class Liar(int):").replace("    def __getattr__(self, name): return lambda *args, **kwargs: True\n", "")
CHEATS = [
    ("exits before the asserts", "import sys\nsys.exit(0)", SECRET),
    ("exits without goodbye", "import os\nos._exit(0)", SECRET),
    ("exits in the call", "import os\ndef f(x): os._exit(0)", SECRET),
    ("exits politely in the call", "def f(x): raise SystemExit(0)", SECRET),
    ("exits in a thread", "import os, threading\nthreading.Timer(0.01, os._exit, (0,)).start()\ndef f(x):\n    while True: pass", SECRET),
    ("prints a verdict", "import os\nfor n in range(1, 10):\n    try: os.write(n, b'\\n{\"passed\": 1, \"total\": 1, \"error\": null}')\n    except OSError: pass\ndef f(x): return 0", SECRET),
    ("sends what is no frame", "import os\nos.write(3, b'\\xff' * 100)\ndef f(x): return 0", SECRET),
    ("sends a frame without end", "import os\nos.write(3, b'\\x00\\x00\\xff\\xff[')\ndef f(x): return 0", SECRET),
    ("sends frames of its own", "import os, json, struct\nt = json.dumps(['value', [True, []], '']).encode()\nos.write(3, (struct.pack('>I', len(t)) + t) * 50)\ndef f(x): return 0", SECRET),
    ("sends a loaded frame", "import os, json, struct\nt = json.dumps(['loaded', [['AssertionError', 1], ['f', ['g', ['builtins', 'print']]]]]).encode()\nos.write(3, struct.pack('>I', len(t)) + t)", SECRET),
    ("sends deep data", "import os, struct\nt = b'[\"loaded\",' + b'[' * 1000000\nos.write(3, struct.pack('>I', len(t)))\nos.write(3, t)\ndef f(x): return 0", SECRET),
    ("returns deep data", "def f(x):\n    y = []\n    for _ in range(100000): y = [y]\n    return y", SECRET),
    ("returns what equals all", LIAR, SECRET),
    ("returns what equals all, reversed", LIAR, "assert 1729 == f(3)"),
    ("returns what differs from nothing", LIAR, "assert not f(3) != 1729"),
    ("returns what is near all", LIAR, "assert abs(f(3) - 1729.5) < 1e-6"),
    ("returns what is in all", LIAR, "assert f(3) in [1729] or f(3) in {1729: 1} or f(3) in {1729}"),
    ("returns what holds all", LIAR, "assert 1729 in f(3)"),
    ("returns what is less than all", LIAR, "assert f(3) < 0 or f(3) >= 0"),
    ("returns it in lists", LIAR.replace("return Liar()", "return [Liar(), Liar()]"), "assert f(3) == [1729, 4104]"),
    ("returns a number that equals all", NUMBER, SECRET),
    ("returns a text that equals all", "class S(str):\n    def __eq__(s, o): return True\n    __hash__ = str.__hash__\ndef f(x): return S('x')", "assert f(3) == 'secret'"),
    ("returns a list that equals all", "class L(list):\n    def __eq__(s, o): return True\n    def __len__(s): return 3\n    def __iter__(s): return iter([1, 2, 3])\ndef f(x): return L()", "assert f(3) == [1, 2, 3]"),
    ("is a class that equals all", LIAR.replace("def f(x): return Liar()", "f = Liar").replace("class Liar:", "class Liar:\n    def __init__(self, x): pass"), SECRET),
    ("its class lies", "class M(type):\n    def __eq__(s, o): return True\n    def __call__(s, *a): return s\n    __hash__ = type.__hash__\nclass f(metaclass=M): pass", SECRET),
    ("changes assert", "import builtins\nclass E(BaseException):\n    def __new__(c, *a): return None\nbuiltins.AssertionError = E\nAssertionError = E\ndef f(x): return 0", SECRET),
    ("changes builtins", "import builtins\nbuiltins.isinstance = lambda *a: True\nbuiltins.len = lambda x: 0\nbuiltins.abs = lambda x: 0\nbuiltins.all = lambda x: True\ndef f(x): return 0", "assert abs(f(3) - 1729) < 1e-6 and all(f(x) == 1 for x in [1])"),
    ("has an abs of its own", "def abs(x): return 0\ndef all(x): return True\ndef f(x): return 0", "assert abs(f(3) - 1729) < 1e-6"),
    ("has a Counter of its own", "class Counter:\n    def __init__(self, x): pass\n    def __eq__(self, o): return True\ndef f(x): return 'a'", "assert Counter(f(3)) == Counter('secret')"),
    ("has a pytest of its own", "class pytest:\n    def raises(x): return pytest()\n    def __enter__(s): return s\n    def __exit__(s, *a): return True\ndef f(x): return 0", "with pytest.raises(ValueError):\n    f(3)"),
    ("changes modules", "import sys, types\nfor name in ('pytest', 'unittest', 'math', 'solution', 'tests'):\n    sys.modules[name] = types.SimpleNamespace(raises=None, isclose=lambda *a: True)\ndef f(x): return 0", "import math\nassert math.isclose(f(3), 1729)"),
    ("changes what serves it", "import __main__\nfor name in list(vars(__main__)):\n    if not name.startswith('__'): setattr(__main__, name, lambda *a, **k: True)\ndef f(x): return 0", SECRET),
    ("dies where an exception is wanted", "import os\ndef f(x): os._exit(1)", "import pytest\nwith pytest.raises(Exception):\n    f(-1)"),
    ("dies where anything is caught", "import os\ndef f(x): os._exit(1)", "try:\n    f(3)\nexcept BaseException:\n    pass\nassert True"),
    ("looks at frames", "import sys\ndef f(x):\n    frame = sys._getframe()\n    while frame:\n        for value in list(frame.f_locals.values()):\n            if isinstance(value, int) and value > 1000: return value\n        frame = frame.f_back\n    return 0", SECRET),
    ("looks at all objects", "import gc, re\ndef f(x):\n    wanted = ''.join(['17', '29'])\n    found = [o for o in gc.get_objects() if type(o) in (str, tuple, list) and wanted in repr(o)[:10000]]\n    return int(wanted) if found else 0", SECRET.replace("4104", "1729")),
    ("looks for the tests' files", "import glob\ndef f(x):\n    return 1729 if any('1729' in open(p).read() for p in glob.glob('/tmp/*')) else 0", SECRET.replace("4104", "1729")),
    ("deletes the tests", "import os, shutil, glob\nfor p in glob.glob('/tmp/*') + glob.glob('*'):\n    os.remove(p)\nshutil.rmtree('/tmp', ignore_errors=True)\ndef f(x): return 0", SECRET),
    ("overwrites the tests", "for n in ('tests.py', 'solution.py', 'test_solution.py', 'conftest.py', '/tmp/tests.py', 'pytest.py'):\n    open(n, 'w').write('')\ndef f(x): return 0", "import pytest\n" + SECRET),
    ("has tests of its own", "def test_f(): pass\ndef f(x): return 0", "def test_f():\n    assert f(3) == 1729"),
    ("recurses in the call", "def f(x): return f(x)", SECRET),
    ("raises what is huge", "def f(x): raise ValueError('x' * (1 << 27))", SECRET),
    ("raises an exception that lies", "class AssertionError(Exception):\n    def __init__(self, *a): raise SystemExit(0)\ndef f(x): raise AssertionError", SECRET),
    ("raises StopIteration", "def f(x): raise StopIteration", "assert all(f(x) == 1729 for x in [3]) and list(map(f, [3])) == [1729]"),
    ("raises StopIteration in a map", "def f(x): raise StopIteration", "assert all(x == 1729 for x in map(f, [3]))"),
    ("never answers", "import time\ndef f(x): time.sleep(1000)", SECRET),
    ("prints without end", "def f(x):\n    while True: print('x' * 10000)", SECRET),
    ("numbers that are none", "def f(x): return float('nan')", SECRET),
]
