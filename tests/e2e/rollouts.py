"""The rollouts of a run folder, whoever wrote them: one file a step, or a part from each group of ranks that samples."""
import json
from pathlib import Path


def rollout_text(run: Path, step: int, prefix: str = "step_", folder: str = "rollouts") -> str:
    """All lines of a step, group after group, sample after sample."""
    files = sorted((Path(run) / folder).glob(f"{prefix}{step:06}*.jsonl"))
    assert files, f"{run} has no rollouts of step {step}"
    lines = [line for file in files for line in file.read_text().splitlines()]
    return "".join(line + "\n" for line in sorted(lines, key=place))


def rollout_lines(run: Path, step: int, prefix: str = "step_", folder: str = "rollouts") -> list[dict]:
    return [json.loads(line) for line in rollout_text(run, step, prefix, folder).splitlines()]


def rollout_steps(run: Path) -> list[int]:
    return sorted({int(file.name[5:11]) for file in (Path(run) / "rollouts").glob("step_*.jsonl")})


def place(line: str) -> tuple[int, int]:
    row = json.loads(line)
    return row["group_index"], row["sample_index"]
