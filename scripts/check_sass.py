#!/usr/bin/env python3
"""Reads the machine code that nvcc made of cuda/*.cu, as no GPU is needed to see what would make it slow:

    scripts/check_sass.py build/CMakeFiles/roll_light.dir/cuda/*.cu.o

Registers: none spills, and a block's lanes get theirs out of the 65,536 of a multiprocessor. Hot loops (those without a
loop inside): no division (32 bit: I2F, MUFU.RCP; 64 bit: a call) and no global load below 8 bytes. Attention: warp
instructions per byte of keys and values. What is known and meant stands in the tables below; a line that nothing needs any
more is an error too. Exit code 77: the disassembler (tests/requirements.txt) is not installed."""
import collections
import dataclasses
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

REGISTERS = 65536
# (kernel, as an expression; what a hot loop of it may do: divide, load) -> why that costs nothing. Nothing may spill.
EXCEPTIONS = {
    ("(FindTops|WeighParts)<512>", "divide"): "the tokens that penalties touch",
    ("(FindTops|WeighParts)<512>", "load"): "the tokens that penalties touch",
    ("DrawRows<512>", "divide"): "none: calls that let one warp alone shuffle",
    ("DrawRows<512>", "load"): "one chunk of the row, and the tokens that penalties touch",
    ("AdvanceSlots", "load"): "the tokens that penalties touch",
    ("PlaceHeads<.*>", "load"): "a head of a row: some 256 bytes a block, read once",
    ("UpdateSlots", "load"): "what changed since the step before: a few hundred bytes",
    ("ChooseExperts", "load"): "a row of logits: 4 bytes per expert",
    ("SortChoices", "load"): "4 bytes per choice",
    ("CombineExperts", "load"): "a row's choices: 8 bytes each",
    ("AdamWSlice", "load"): "what a slice has behind its last vector",
}
# Warp instructions per byte of keys and values that an attention kernel may take.
PER_BYTE = {
    r"AttendPages<(Bf16|Fp16), (?P<dim>\d+)>": 0.12,
}


@dataclasses.dataclass
class Instruction:
    address: int
    predicate: str
    opcode: str
    operands: str

    def is_one_of(self, *names):
        return self.opcode.split(".")[0] in names

    def target(self):
        """The address that it names, if it is one that can jump."""
        found = re.search(r"(?:^|[ ,(])0x([0-9a-f]+)\)?$", self.operands)
        return int(found[1], 16) if found and self.is_one_of("BRA", "BSSY") else None

    def loaded_bytes(self):
        """Of a load from global memory, by each lane; 0 of others."""
        if not self.is_one_of("LDG", "LD", "LDGSTS"):
            return 0
        words = self.opcode.split(".")
        return next((size for name, size in (("256", 32), ("128", 16), ("64", 8), ("U16", 2), ("S16", 2), ("U8", 1), ("S8", 1))
                     if name in words), 4)

    def divides(self):
        """A call that jumps over the branch behind it is a loop's end, as nvcc writes it at times."""
        ends_loop = self.operands.endswith(f"{self.address + 0x20:#x}")
        return (self.is_one_of("CALL") and not ends_loop) or (self.is_one_of("I2F") and "RP" in self.opcode.split("."))


@dataclasses.dataclass
class Kernel:
    architecture: str
    name: str
    registers: int = 0
    lanes: int = 1024  # what a block has at most where the source does not say
    stack: int = 0
    code: list = dataclasses.field(default_factory=list)


def name_as_written(kernels):
    """`AttendPages<Bf16, 8>` instead of what linkers call it."""
    names = subprocess.run(["c++filt"], input="\n".join(kernel.name for kernel in kernels), capture_output=True, text=True, check=True).stdout
    for kernel, name in zip(kernels, names.splitlines()):
        name = re.sub(r"\(.*", "", re.sub(r"\(anonymous namespace\)::|roll::|cuda::|^void ", "", name)).replace(" >", ">")
        kernel.name = re.sub(r"^run_kernel<(.*)>$", r"\1", name)


INSTRUCTION = re.compile(r"\s+/\*([0-9a-f]{4,})\*/\s+(@!?\w+)?\s*([A-Z]\S*)\s*(.*?) *;")
FACT = re.compile(r"arch = (?P<arch>\w+)|\s+Function ?:? (?P<name>\w+):?$|\.nv\.info\.(?P<of>\w+)$|\s+REG:(?P<registers>\d+) STACK:(?P<stack>\d+)"
                  r"|\s+Attribute:\s+(?P<attribute>\w+)|\s+Value:\s+(?P<value>0x\w+ 0x\w+ 0x\w+) *$")


def parse(text):
    """Kernels, by their linkers' names, of what cuobjdump -res-usage, -elf and -sass print, one behind the other."""
    kernels, architecture, name, attribute = {}, "", "", ""
    for line in text.splitlines():
        if line.endswith("*/"):
            if found := INSTRUCTION.match(line):  # else it is the second half of its bytes
                kernels[architecture, name].code.append(Instruction(int(found[1], 16), found[2] or "", found[3], found[4]))
        elif found := FACT.match(line):
            architecture, name = found["arch"] or architecture, found["name"] or found["of"] or name
            attribute = found["attribute"] or attribute
            if found["registers"]:
                kernels[architecture, name] = Kernel(architecture, name, int(found["registers"]), stack=int(found["stack"]))
            elif found["value"] and attribute == "EIATTR_MAX_THREADS":
                kernels[architecture, name].lanes = math.prod(int(word, 16) for word in found["value"].split())
    return list(kernels.values())


def blocks_of(code):
    """Runs of instructions that are only entered at their first, and the indices of those that each can go on to."""
    place = {instruction.address: i for i, instruction in enumerate(code)}
    joins = collections.defaultdict(list)  # barrier -> where those meet that wait for it
    starts = {0}
    for i, instruction in enumerate(code):
        if (target := instruction.target()) in place:
            starts.add(place[target])
            if instruction.is_one_of("BSSY"):
                joins[instruction.operands.split(",")[0]].append(target)
        if instruction.is_one_of("BRA", "BRX", "JMP", "EXIT", "RET", "BSYNC"):
            starts.add(i + 1)
    ordered = sorted(start for start in starts if start < len(code))
    number = {start: n for n, start in enumerate(ordered)}
    blocks = [code[start:end] for start, end in zip(ordered, ordered[1:] + [len(code)])]
    successors = []
    for n, block in enumerate(blocks):
        last, after = block[-1], set()
        ends = last.is_one_of("BRX", "JMP", "EXIT", "RET", "BSYNC") or (last.is_one_of("BRA") and re.fullmatch(r"`?\(?0x\w+\)?", last.operands))
        if (last.predicate or not ends) and n + 1 < len(blocks):
            after.add(n + 1)
        if last.is_one_of("BRA") and last.target() in place:
            after.add(number[place[last.target()]])
        if last.is_one_of("BSYNC"):  # mostly just before where they meet
            after.update(number[place[target]] for target in sorted(t for t in joins[last.operands.split(",")[0]] if t > last.address)[:1])
        successors.append(after)
    return blocks, successors


def loops_of(successors):
    """Natural loops: header -> its blocks."""
    order, seen, stack = [], {0}, [(0, iter(successors[0]))]
    while stack:
        n, rest = stack[-1]
        if (child := next((m for m in rest if m not in seen), None)) is None:
            order.append(n)
            stack.pop()
        else:
            seen.add(child)
            stack.append((child, iter(successors[child])))
    order.reverse()
    place = {n: i for i, n in enumerate(order)}
    before = collections.defaultdict(list)
    for n in order:
        for m in successors[n]:
            before[m].append(n)
    dominators = {n: -1 for n in order}  # bits of blocks
    dominators[0] = 1
    while True:
        old = dict(dominators)
        for n in order[1:]:
            common = -1
            for m in before[n]:
                common &= dominators[m]
            dominators[n] = common | 1 << n
        if old == dominators:
            break
    loops = collections.defaultdict(set)
    for n in order:
        for header in successors[n]:
            if dominators[n] >> header & 1:
                body, todo = {header}, [n]
                while todo:
                    if (m := todo.pop()) not in body:
                        body.add(m)
                        todo += before[m]
                loops[header] |= body
            elif place[header] <= place[n]:
                raise SystemExit("sass: a loop with two entries, which this script cannot read")
    return dict(loops)


def hot_loops(code):
    """Instructions of each loop without a loop inside."""
    blocks, successors = blocks_of(code)
    loops = loops_of(successors)
    return [[instruction for n in sorted(body) for instruction in blocks[n]]
            for header, body in loops.items() if not any(inner in body for inner in loops if inner != header)]


def per_byte(code, dim):
    """Warp instructions per byte of keys and values, of attention in 16 bits with heads of so many numbers: of the loop over
    tiles of 32 tokens, the innermost with exponentials, that takes most. A loop inside it goes over parts of the keys, with two
    vectors of queries to four of keys, and counts as often as it runs."""
    blocks, successors = blocks_of(code)
    bodies = [[n for n in sorted(body)] for body in loops_of(successors).values()]
    of = {id(body): [instruction for n in body for instruction in blocks[n]] for body in bodies}
    inside = {id(body): [other for other in bodies if set(other) < set(body)] for body in bodies}
    tiles = [body for body in bodies if any(i.opcode == "MUFU.EX2" for i in of[id(body)])]
    figures = [0.0]
    for body in tiles:
        if any(other in tiles for other in inside[id(body)]):
            continue
        count = len(of[id(body)])
        for inner in inside[id(body)]:
            vectors = sum(i.loaded_bytes() == 16 for i in of[id(inner)])
            count += len(of[id(inner)]) * (dim / 32 / (vectors / 6) - 1) if vectors else 0
        figures.append(count / (32 * 2 * (dim + min(dim, 128))))
    return max(figures)


def faults_of(kernel):
    """(what, in words) of all that a kernel should not do."""
    if kernel.stack or any(i.is_one_of("LDL", "STL") for i in kernel.code):
        yield "spill", f"keeps {kernel.stack} bytes a lane in memory for want of registers"
    if kernel.registers * kernel.lanes > REGISTERS:
        yield "registers", f"{kernel.registers} registers for each of {kernel.lanes} lanes; there are {REGISTERS}"
    for loop in hot_loops(kernel.code):
        where = f"hot loop at {loop[0].address:#x} ({len(loop)} instructions)"
        if found := next((i for i in loop if i.divides()), None):
            yield "divide", f"{where}: {found.opcode} is a division's"
        if found := next((i for i in loop if 0 < i.loaded_bytes() < 8), None):
            yield "load", f"{where}: {found.opcode} loads less than 8 bytes"


def judge(kernels):
    """Prints what is wrong and attention's figures; how many things are wrong."""
    faults, used = collections.defaultdict(list), set()
    for kernel in kernels:
        for what, words in faults_of(kernel):
            lines = [line for line in EXCEPTIONS if line[1] == what in ("divide", "load") and re.fullmatch(line[0], kernel.name)]
            used.update(lines)
            if not lines:
                faults[kernel.name, what].append(f"{kernel.architecture}, {words}")
    wrong = [f"{name}: {what}, {len(found)} times: {found[0]}" for (name, what), found in faults.items()]
    figures = collections.defaultdict(dict)
    for kernel in kernels:
        for pattern, limit in PER_BYTE.items():
            if found := re.fullmatch(pattern, kernel.name):
                used.add(pattern)
                figure = figures[kernel.name][kernel.architecture] = per_byte(kernel.code, int(found["dim"]))
                if not 0 < figure <= limit:
                    wrong.append(f"{kernel.architecture} {kernel.name}: {figure:.3f} warp instructions per byte of keys and values; at most {limit}")
    for name, of in sorted(figures.items()):
        print(f"sass: {name}: warp instructions per byte of keys and values: " + ", ".join(f"{value:.3f} ({where})" for where, value in sorted(of.items())))
    wrong += [f"nothing needs this line of the tables: {line}" for line in [*EXCEPTIONS, *PER_BYTE] if line not in used]
    return sorted(set(wrong))


def disassembler():
    """cuobjdump, with nvdisasm beside it: of the tests' wheels, or the CUDA toolkit's."""
    here = pathlib.Path(__file__).resolve().parent.parent
    packages = [pathlib.Path(sysconfig.get_paths()["purelib"]), *here.glob(".deps/venv/lib/python3*/site-packages")]
    for folder in [*(package / "nvidia/cu13/bin" for package in packages), "/usr/local/cuda/bin", None]:
        path = f"{folder}" if folder else os.environ["PATH"]
        if shutil.which("cuobjdump", path=path) and shutil.which("nvdisasm", path=path):
            return [shutil.which("cuobjdump", path=path)], {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
    return None, None


def main(objects):
    tool, environment = disassembler()
    if not tool:
        print("sass: SKIPPED: neither cuobjdump nor nvdisasm is here; scripts/setup.sh --tests brings them")
        sys.exit(77)
    text = "".join(subprocess.run([*tool, option, name], capture_output=True, text=True, check=True, env=environment).stdout
                   for name in objects for option in ("-res-usage", "-elf", "-sass"))
    kernels = parse(text)
    name_as_written(kernels)
    if not kernels:
        sys.exit(f"sass: no kernel in {' '.join(objects) or 'no object'}")
    wrong = judge(kernels)
    print("\n".join(f"sass: {line}" for line in wrong + [f"{len(kernels)} kernels of {', '.join(sorted({k.architecture for k in kernels}))}: {len(wrong)} faults"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main(sys.argv[1:])
