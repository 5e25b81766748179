#!/usr/bin/env python3
"""What scripts/check_sass.py finds in machine code that was written by hand. Needs neither the program nor a disassembler."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import check_sass

# Two loops, one within the other; {} is in the inner one.
NEST = ["S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, UR4, PT", "@P0 EXIT", "MOV R4, RZ", "{}", "IADD3 R4, R4, 0x1, RZ", "ISETP.NE.AND P1, PT, R4, 0x8, PT",
        "@P1 BRA 0x40", "IADD3 R0, R0, 0x400, RZ", "ISETP.LT.AND P2, PT, R0, UR4, PT", "@P2 BRA 0x30", "EXIT", "BRA 0xc0"]
# A branch that meets the others at a barrier in front of which it lies, and code behind the end that jumps back: no loop.
STRAIGHT = ["BSSY B0, 0x50", "@!P0 BRA 0x80", "MOV R1, RZ", "IMAD R1, R1, R1, RZ", "BSYNC B0", "{}", "STG.E [R2], R1", "EXIT", "MOV R1, R3", "BRA 0x40"]


def kernel(code, inner, registers=32, stack=0, lanes=None):
    lines = [f"/*{16 * i:04x}*/ {line.format(inner)} ; /* 0x0 */\n        /* 0x0 */" for i, line in enumerate(code)]
    text = f"arch = sm_90\n Function k:\n  REG:{registers} STACK:{stack} SHARED:0\n"
    if lanes:
        text += f".nv.info.k\n\tAttribute:\tEIATTR_MAX_THREADS\n\tFormat:\tEIFMT_SVAL\n\tValue:\t{lanes:#x} 0x1 0x1 \n"
    text += "\tAttribute:\tEIATTR_OTHER\n\tValue:\t0x1 0x1 0x1 \n\t\tFunction : k\n" + "\n".join(f"        {line}" for line in lines)
    found, = check_sass.parse(text)
    return found


def faults(*arguments, **options):
    return [what for what, _ in check_sass.faults_of(kernel(*arguments, **options))]


def check(found, expected, what):
    assert found == expected, f"{what}: {found} instead of {expected}"


found = kernel(NEST, "LDG.E.128 R8, [R2]", lanes=512)
check((found.architecture, found.name, found.registers, found.lanes, len(found.code)), ("sm_90", "k", 32, 512, 13), "a kernel's facts")
check([[i.address for i in loop] for loop in check_sass.hot_loops(found.code)], [[0x40, 0x50, 0x60, 0x70]], "the innermost loop")
check(check_sass.hot_loops(kernel(STRAIGHT, "NOP").code), [], "code that jumps back to where branches meet")

for inner in ("LDG.E.128 R8, [R2]", "LDG.E.64.CONSTANT R8, [R2]", "@P3 LDG.E.LTC128B.128 R8, [R2]", "LDS R8, [R2]", "MUFU.RCP R8, R9", "I2F.U32 R8, R9"):
    check(faults(NEST, inner), [], inner)
for inner in ("LDG.E R8, [R2]", "LDG.E.LTC128B R8, [R2]", "@!P3 LDG.E.U16.CONSTANT R8, [R2]", "LD.E.S8 R8, [R2]"):
    check(faults(NEST, inner), ["load"], inner)
for inner in ("CALL.REL.NOINC 0x90", "I2F.U32.RP R8, R9", "I2F.RP R8, R9"):
    check(faults(NEST, inner), ["divide"], inner)
    check(faults(STRAIGHT, inner), [], f"{inner} in no loop")
check(faults(NEST, "@P3 CALL.REL.NOINC 0x60"), [], "a call that leaves the loop")
check(faults(STRAIGHT, "LDG.E R8, [R2]"), [], "a short load in no loop")
check(faults(NEST, "STL [R1], R8"), ["spill"], "a store to a lane's own memory")
check(faults(NEST, "NOP", stack=8), ["spill"], "a stack")
check(faults(NEST, "NOP", registers=64), [], "64 registers for 1,024 lanes")
check(faults(NEST, "NOP", registers=65), ["registers"], "65 registers for 1,024 lanes")
check(faults(NEST, "NOP", registers=128, lanes=512), [], "128 registers for 512 lanes")

# A loop over tiles, whose inner one reads 64 numbers of two queries and four keys in two passes.
TILES = ["S2R R0, SR_TID.X", "MOV R4, RZ", *["LDG.E.128 R8, [R2]"] * 6, "@P1 BRA 0x20", "{}", "@P2 BRA 0x10", "EXIT"]
tiles = kernel(TILES, "MUFU.EX2 R1, R2")
check(check_sass.per_byte(tiles.code, 64), (10 + 7) / (32 * 2 * 128), "a tile of 17 instructions")
check(check_sass.per_byte(tiles.code, 256), (10 + 7 * 7) / (32 * 2 * 384), "wide heads read half their values in a block")
check(check_sass.per_byte(kernel(TILES, "NOP").code, 64), 0, "no loop with exponentials")

check_sass.EXCEPTIONS = {("other", "load"): ""}
check_sass.PER_BYTE = {r"other(?P<dim>\d+)": 1}
check(len(check_sass.judge([found])), 2, "lines of the tables that nothing needs")
check_sass.EXCEPTIONS, check_sass.PER_BYTE = {("k", "spill"): ""}, {}
check(len(check_sass.judge([kernel(NEST, "NOP", stack=8)])), 2, "a spill, which nothing excuses")
check_sass.EXCEPTIONS = {}
tiles.name = "k64"
for limit, count in ((17 / 8192, 0), (16.9 / 8192, 1)):
    check_sass.PER_BYTE = {r"k(?P<dim>\d+)": limit}
    check(len(check_sass.judge([tiles])), count, "an instruction too many for each byte")
