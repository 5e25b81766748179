"""The README's table of what gpu_check.py measured on a GPU."""


def rows_of(sizes):
    """(work of a figure, its words, its unit)"""
    prompt = sizes["decode"][0]
    rows = [*((f"decode {batch}", f"decoding, {batch} sequence{'s' if batch > 1 else ''} from {prompt:,} tokens on", "tokens/s") for batch in sizes["batches"]),
            ("train", f"one update in bfloat16 on {sizes['train'][0] * sizes['train'][1]:,} tokens", "tokens/s")]
    if sizes["step"]:
        prompts, responses, length = sizes["step"]
        rows.append(("step", f"a GRPO step, {prompts} prompts x {responses} responses of {length} tokens", "response tokens/s"))
    return rows


def missing_of(report, sizes):
    """What a table would need and the report has not."""
    figures = report.get("figures", {})
    wanted = [("ceilings", key) for key in ("bytes_per_s", "flops_per_s")]
    wanted += [(work, key) for work, *_ in rows_of(sizes) for key in ("tokens_per_s", "bytes", "flops", "share", "peer")]
    missing = [f"{work}: {key}" for work, key in wanted if not figures.get(work, {}).get(key)]
    if report.get("device") != "cuda" or not report.get("machine", {}).get("gpus"):
        missing.insert(0, "a GPU: it was made without one")
    return missing


def table(report, sizes):
    """Prints it; the exit code."""
    if missing := missing_of(report, sizes):
        print("gpu_check: no table: the report lacks " + "; ".join(missing))
        return 1
    figures = report["figures"]
    ceilings = figures["ceilings"]
    print(f"On {report['machine']['gpus'][0]}, which copies {ceilings['bytes_per_s'] / 1e12:.2f} TB/s and multiplies bfloat16 matrices at "
          f"{ceilings['flops_per_s'] / 1e12:.0f} TFLOP/s (measured in the same run); the shape of {report['model']}, bfloat16.\n")
    print("| work | roll | beside it | ratio | bytes | FLOPs | share of what the machine allows |\n|---|---|---|---|---|---|---|")
    for work, words, unit in rows_of(sizes):
        one, peer = figures[work], figures[work]["peer"]
        print(f"| {words} | {one['tokens_per_s']:,.0f} {unit} | {peer['tokens_per_s']:,.0f}, {peer['peer']}{', ' + peer['kind'] if 'kind' in peer else ''} "
              f"| {one['tokens_per_s'] / peer['tokens_per_s']:.2f} | {one['bytes'] / 1e9:.1f} GB | {one['flops'] / 1e12:.2f} T | {one['share']:.2f} |")
    return 0
