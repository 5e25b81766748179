#!/usr/bin/env python3
"""Training with share_prompts equals training without, to 2e-6: replays of three steps under meshes (dp, cp, tp) x packing x architectures, with
critic and reference, against one rank that shares nothing. Too long for CI, whose cases are in tests/e2e/packing_test.py. Argument: the
roll binary."""
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "e2e"))
from replay import PACKED, compare, make_model, record, shared_of, train  # noqa: E402

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    replay = dict(rollout_replay=record(folder))
    for arch in ("qwen2", "qwen3", "llama"):
        make_model(folder, arch, arch)
        base = train(folder, f"{arch}_base", rows=16, accumulation=1, model=arch, **replay)
        for mesh in ("111", "211", "121", "112", "222"):
            dp, cp, tp = map(int, mesh)
            for algorithm in ("", "none", "load_balance"):
                packing = (PACKED.format(algorithm, 120) if algorithm else "") + "\n  share_prompts: true"
                run = train(folder, f"{arch}_{mesh}_{algorithm}", dp * cp * tp, rows=16 // dp, accumulation=1, tp=tp, cp=cp, model=arch,
                            packing=packing, **replay, **{"reference.share_prompts": "true"})
                compare(run, base, f"{arch} {mesh} {algorithm or 'not packed'}, {shared_of(run):.2f} shared", bound=2e-6)
