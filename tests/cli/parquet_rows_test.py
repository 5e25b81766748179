#!/usr/bin/env python3
"""Rows of Parquet files, and of compressed and other texts, are what Python reads of them: rows of nested columns in each
codec, by `roll data convert`. Arguments: the roll binary, and how many rows (20000 by hand)."""
import csv
import datetime
import decimal
import gzip
import base64
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

from arrow_program import binary  # before pyarrow: it skips where that is missing
import pyarrow as pa
import pyarrow.parquet as pq

NUM_ROWS = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
WORDS = ["one", "zwei", "三", "\U0001f600", "a\nb", 'say "x"', "\\frac{1}{2}", ""]
SCHEMA = pa.schema([
    ("id", pa.int64()),
    ("question", pa.string()),
    ("answer", pa.large_string()),
    ("small", pa.int8()), ("unsigned", pa.uint64()), ("half", pa.float16()), ("single", pa.float32()), ("double", pa.float64()),
    ("flag", pa.bool_()), ("nothing", pa.null()),
    ("word", pa.dictionary(pa.int32(), pa.string())),
    ("price", pa.decimal128(12, 3)), ("large", pa.decimal256(60, 10)),
    ("day", pa.date32()), ("clock", pa.time64("us")), ("clock_ms", pa.time32("ms")),
    *[(f"at_{unit}", pa.timestamp(unit)) for unit in ("ms", "us", "ns")], ("instant", pa.timestamp("us", "Europe/Berlin")),
    ("took", pa.duration("ms")),
    ("bytes", pa.binary()), ("key", pa.binary(4)),
    ("numbers", pa.list_(pa.float64())), ("pair", pa.list_(pa.int32(), 2)), ("lists", pa.large_list(pa.list_(pa.string()))),
    ("reward_model", pa.struct([("ground_truth", pa.string()), ("style", pa.dictionary(pa.int8(), pa.string())),
                                ("inner", pa.struct([("x", pa.list_(pa.struct([("y", pa.int32()), ("z", pa.string())])))]))])),
    ("chat", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
    ("map", pa.map_(pa.string(), pa.list_(pa.int32()))),
])


def value(kind, rng):
    """A value of an Arrow type, as Python's; one in ten is null."""
    if pa.types.is_null(kind) or rng.random() < 0.1:
        return None
    if pa.types.is_dictionary(kind):
        return rng.choice(WORDS)
    if pa.types.is_struct(kind):
        return {field.name: value(field.type, rng) for field in kind}
    if pa.types.is_fixed_size_list(kind):
        return [value(kind.value_type, rng) for _ in range(kind.list_size)]
    if pa.types.is_map(kind):
        return [(word, value(kind.item_type, rng)) for word in rng.sample(WORDS, rng.randrange(3))]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [value(kind.value_type, rng) for _ in range(rng.randrange(4))]
    if pa.types.is_integer(kind):
        bits = kind.bit_width - 1
        return rng.randrange(2**bits) if pa.types.is_unsigned_integer(kind) else rng.randrange(-2**bits, 2**bits)
    if pa.types.is_floating(kind):
        return rng.choice([rng.gauss(0, 1), rng.uniform(-9, 9), 0.0, 1e4, math.nan, math.inf])
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_decimal(kind):
        return decimal.Decimal(rng.randrange(-10**9, 10**9)).scaleb(-kind.scale)
    if pa.types.is_date(kind):
        return datetime.date(1900, 1, 1) + datetime.timedelta(days=rng.randrange(80000))
    if pa.types.is_time(kind):
        return datetime.time(rng.randrange(24), rng.randrange(60), rng.randrange(60), 1000 * rng.randrange(1000))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return rng.randrange(-10**9, 10**10) * UNITS[kind.unit] // rng.choice([1, 7]) if UNITS[kind.unit] < 10**9 else rng.randrange(-10**18, 10**18)
    if pa.types.is_fixed_size_binary(kind):
        return rng.randbytes(kind.byte_width)
    if pa.types.is_binary(kind):
        return rng.randbytes(rng.randrange(9))
    return " ".join(rng.choices(WORDS, k=rng.randrange(1, 6)))


def fraction(count, unit):
    digits = len(str(UNITS[unit])) - 1
    return f".{count:0{digits}d}" if digits else ""


def as_json(scalar):
    """What the row must say of a pyarrow scalar."""
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_dictionary(kind):
        return as_json(scalar.dictionary[scalar.index.as_py()])
    if pa.types.is_struct(kind):
        return {name: as_json(inner) for name, inner in scalar.items()}
    if pa.types.is_map(kind):
        return [[as_json(pair["key"]), as_json(pair["value"])] for pair in scalar.values]
    if pa.types.is_nested(kind):
        return [as_json(inner) for inner in scalar.values]
    if pa.types.is_timestamp(kind):
        seconds, rest = divmod(scalar.value, UNITS[kind.unit])
        text = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)).isoformat()
        return text + fraction(rest, kind.unit) + ("Z" if kind.tz else "")
    if pa.types.is_duration(kind):
        return scalar.value
    python = scalar.as_py()
    if pa.types.is_time(kind):
        return python.strftime("%H:%M:%S") + fraction(python.microsecond * UNITS[kind.unit] // 10**6, kind.unit)
    if pa.types.is_date(kind):
        return python.isoformat()
    if pa.types.is_decimal(kind):
        return format(python, "f")
    if isinstance(python, bytes):
        return {"base64": base64.b64encode(python).decode()}
    if isinstance(python, float):
        return python if math.isfinite(python) else None
    return python


def convert(folder, name, *flags, wanted=0):
    out = folder / "out.jsonl"
    out.unlink(missing_ok=True)
    done = subprocess.run([binary, "data", "convert", name, "--out", out, *flags], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == wanted, f"{name} {flags}: {done.returncode}\n{done.stdout}{done.stderr}"
    return [json.loads(line) for line in out.read_text().splitlines()] if wanted == 0 else done.stderr


def rows_of(count, seed):
    rng = random.Random(seed)
    rows = [{field.name: value(field.type, rng) for field in SCHEMA} for _ in range(count)]
    for number, row in enumerate(rows):
        row.update(id=number, question=f"what is {number}? " + rng.choice(WORDS) * rng.randrange(40))
    return rows


def check_types(folder):
    """All of Parquet's and Arrow's types, in all codecs, page versions and sizes, and row groups of odd sizes."""
    table = pa.Table.from_pylist(rows_of(NUM_ROWS, 1), SCHEMA)
    known = {}  # of a column, what pyarrow read last and what that is as JSON: seldom another thing in the next file
    for codec, group, options in [("snappy", 1111, {}), ("gzip", NUM_ROWS, dict(data_page_version="2.0", write_page_checksum=True)),
                                  ("zstd", 1024, dict(data_page_size=4096, use_dictionary=False)), ("lz4", 1700, {}), ("brotli", NUM_ROWS, {}),
                                  ("none", 129, dict(store_schema=False))]:
        file = folder / f"{codec}.parquet"
        pq.write_table(table, file, compression=codec, row_group_size=group, **options)
        names = table.column_names
        for name, column in zip(names, pq.read_table(file).columns):
            if name not in known or not column.equals(known[name][0]):
                known[name] = column, [as_json(scalar) for scalar in column.combine_chunks()]
        rows = convert(folder, file.name, "--question", "question", "--ground-truth", "answer")
        assert len(rows) == NUM_ROWS, len(rows)
        for number, row in enumerate(rows):
            read = {name: known[name][1][number] for name in names}
            wanted = {k: v for k, v in read.items() if k not in ("question", "answer")}
            wanted["messages"] = [{"role": "user", "content": read["question"]}]
            if read["answer"] is not None:
                wanted["ground_truth"] = read["answer"]
            assert row == wanted, f"{codec}: row {number}:\n" + "\n".join(
                f"{k}: {row.get(k, '-')!r}, not {wanted.get(k, '-')!r}" for k in row.keys() | wanted.keys() if row.get(k, 1) != wanted.get(k, 1))
        print(f"{codec}: {NUM_ROWS} rows, {len(names)} columns, row groups of {group}", flush=True)


def check_texts(folder):
    """The same rows as text of any kind."""
    rows = [{"problem": f"{n}\n + {WORDS[n % 8]} \"=\",", "answer": str(n), "level": None if n % 3 else "x"} for n in range(1000)]
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    two = gzip.compress(lines[:5000]) + gzip.compress(lines[5000:])
    packed = subprocess.run(["zstd", "-q"], input=lines, capture_output=True, check=True).stdout if have_zstd() else \
        pa.Codec("zstd").compress(lines, asbytes=True)
    files = {"a.jsonl": lines, "a.jsonl.gz": two, "a.jsonl.zst": packed, "array.json": json.dumps(rows, indent=1).encode(),
             "array.json.gz": gzip.compress(json.dumps(rows).encode()), "mark.json": b"\xef\xbb\xbf" + json.dumps(rows).encode()}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    for name, dialect in [("a.csv", "excel"), ("unix.csv", "unix"), ("a.tsv", "excel-tab")]:
        with open(folder / name, "w", newline="") as out:
            writer = csv.DictWriter(out, rows[0].keys(), dialect=dialect)
            writer.writeheader()
            writer.writerows(rows)
    (folder / "a.csv.gz").write_bytes(gzip.compress((folder / "a.csv").read_bytes()))
    wanted = convert(folder, "a.jsonl")
    assert wanted[3] == {"messages": [{"role": "user", "content": rows[3]["problem"]}], "ground_truth": "3", "level": "x"}, wanted[3]
    for name in [*files, "a.csv", "a.tsv", "a.csv.gz"]:
        assert convert(folder, name) == wanted, name
    unix = convert(folder, "unix.csv")  # quotes everything, so that nothing is null
    assert [row | {"level": row["level"] or None} for row in unix] == wanted, unix[:2]
    print(f"{len(files) + 4} texts of {len(rows)} rows", flush=True)


def have_zstd():
    return subprocess.run(["sh", "-c", "command -v zstd"], capture_output=True).returncode == 0


def check_again(folder):
    """What was written is read as it is."""
    first = convert(folder, "snappy.parquet", "--messages", "chat", "--question", "question", "--tag", "word", "--ground-truth", "reward_model.ground_truth", wanted=2)
    assert "chat" in first, first  # null contents, empty lists
    rows = [{"prompt": [{"role": "user", "content": f"{n}?"}], "data_source": "d", "reward_model": {"ground_truth": str(n), "style": "rule"},
             "extra_info": {"index": n}} for n in range(10)]
    pq.write_table(pa.Table.from_pylist(rows), folder / "verl.parquet")
    read = convert(folder, "verl.parquet")
    assert read[7] == {"messages": rows[7]["prompt"], "ground_truth": "7", "tag": "d", "reward_model": rows[7]["reward_model"], "extra_info": {"index": 7}}, read[7]
    (folder / "again.jsonl").write_text("".join(json.dumps(row) + "\n" for row in read))
    assert convert(folder, "again.jsonl") == read


def check_refused(folder):
    """What no row can hold is told with the file, and of a row with its number."""
    texts = pa.array([b"a", b"b\xff", b"c"]).view(pa.string())
    pq.write_table(pa.table({"prompt": texts, "ground_truth": pa.array(["1", "2", "3"])}), folder / "bytes.parquet")
    said = convert(folder, "bytes.parquet", wanted=2)
    assert said == "roll: bytes.parquet:2: prompt: a string is not UTF-8\n", said
    done = subprocess.run([binary, "data", "check", "bytes.parquet"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and "rows: 3, 1 unusable" in done.stdout, done  # the rows behind it are read
    pq.write_table(pa.Table.from_arrays([texts, texts], ["prompt", "prompt"]), folder / "twice.parquet")
    assert "twice.parquet: names the column 'prompt' twice" in convert(folder, "twice.parquet", wanted=2)
    (folder / "locked.parquet").write_bytes(b"PARE" * 9)
    assert "locked.parquet: is an encrypted Parquet file" in convert(folder, "locked.parquet", wanted=2)
    rows = [{"question": "1+1?", "answer": "#### 2"}, {"question": "2+2?", "answer": None}, {"question": None, "answer": "#### 6"}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "nulls.parquet")
    said = convert(folder, "nulls.parquet", wanted=2)
    assert "nulls.parquet:3: the row has no column 'question' for its prompt" in said, said
    done = subprocess.run([binary, "data", "check", "nulls.parquet", "--reward", "math_rule"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and "2 of 3 rows cannot be used" in done.stderr and "nulls.parquet:2: ground_truth: missing" in done.stdout, done
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"prompt": "a"}\n' * 1000)[:-20])
    assert "cut.jsonl.gz: after " in convert(folder, "cut.jsonl.gz", wanted=2)


def check_expansion(folder):
    """Few bytes that stand for gigabytes are refused long before these are read; a large file that repeats itself as data sets do is not, nor is a
    small one, however much it does."""
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"prompt": text}), folder / "bomb.parquet")
    (folder / "bomb.jsonl.gz").write_bytes(gzip.compress((b'{"prompt": "' + b"x" * 1_000_000 + b'"}\n') * 290, 9))
    (folder / "blanks.jsonl.gz").write_bytes(gzip.compress(b" " * 290_000_000, 9))
    for name in ("bomb.parquet", "bomb.jsonl.gz", "blanks.jsonl.gz"):
        assert (folder / name).stat().st_size < 400_000, name
        for command in (["data", "check", name], ["data", "convert", name, "--out", "out.jsonl"]):
            done = subprocess.run([binary, *command], cwd=folder, capture_output=True, text=True, timeout=100)
            assert done.returncode == 2 and f"{name}: its {(folder / name).stat().st_size} bytes expand to more than 256 MB" in done.stderr, done
            assert "write them as JSON lines without compression" in done.stderr, done
    rng, system = random.Random(1), "You are a careful assistant. " * 200
    (folder / "alike.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps({"prompt": f"{system}{rng.random()}"}) + "\n" for _ in range(50_000)).encode()))
    convert(folder, "alike.jsonl.gz")
    (folder / "small.jsonl.gz").write_bytes(gzip.compress(b'{"prompt": "' + b"x" * 1_000_000 + b'"}\n', 9))
    assert (folder / "small.jsonl.gz").stat().st_size < 2000
    convert(folder, "small.jsonl.gz")


def check_loads_arrow_late(folder):
    """A process that reads JSON lines never opens Arrow's libraries."""
    for name, loads in [("a.jsonl", False), ("a.csv", False), ("verl.parquet", True), ("a.jsonl.gz", True)]:
        done = subprocess.run([binary, "data", "convert", name, "--out", "out.jsonl"], cwd=folder, capture_output=True, text=True,
                              env={"LD_DEBUG": "files", "PATH": "/usr/bin:/bin"})
        assert done.returncode == 0 and ("libparquet" in done.stderr) == loads, (name, done.stderr[-500:])


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    check_types(folder)
    check_texts(folder)
    check_again(folder)
    check_refused(folder)
    check_expansion(folder)
    check_loads_arrow_late(folder)
