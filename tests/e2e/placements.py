"""Roles on devices of their own, for settings of replay.py's configuration."""

ROLES = ("actor_train", "actor_infer", "reference", "critic")
# Devices of the roles, and sizes that are not 1. A mini-batch is 8 sequences in all of them.
PLACEMENTS = {
    "shared": dict(actor_train=[0, 1], actor_infer=[0, 1], reference=[0, 1], critic=[0, 1]),
    "sampler on fewer": dict(actor_train=[0, 1], actor_infer=[0], reference=[0, 1], critic=[0, 1]),
    "partly shared": dict(actor_train=[0, 1], actor_infer=[1, 2], reference=[2], critic=[1, 2]),
    "apart": dict(actor_train=[0], actor_infer=[1], reference=[2], critic=[3]),
    "apart, numbered from 4, the policy last": dict(actor_train=[7], actor_infer=[5], reference=[4], critic=[6]),
    "apart, data ranks": dict(actor_train=[2, 3], actor_infer=[0, 1], reference=[0, 1], critic=[2, 3]),
    "apart, tensor ranks": dict(actor_train=[0, 1], actor_infer=[2, 3], reference=[1, 2], critic=[2, 3], tp=dict(actor_train=2, reference=2, critic=2)),
    "apart, tensor ranks that sample": dict(actor_train=[0], actor_infer=[1, 2], reference=[0], critic=[3], tp=dict(actor_infer=2)),
    "shifted tensor groups": dict(actor_train=[0, 1, 2, 3], actor_infer=[1, 2], reference=[3], critic=[0, 3], tp=dict(actor_train=2, actor_infer=2)),
    "apart, context ranks": dict(actor_train=[0, 1], actor_infer=[0, 1, 2], reference=[2], critic=[2, 3], cp=dict(actor_train=2, critic=2)),
}


def settings(placement):
    values = {}
    for role in ROLES:
        tp, cp = placement.get("tp", {}).get(role, 1), placement.get("cp", {}).get(role, 1)
        values[f"{role}.device_mapping"] = str(placement[role])
        values[f"{role}.strategy_args"] = f"{{strategy_config: {{tensor_model_parallel_size: {tp}, context_parallel_size: {cp}}}}}"
        if role in ("actor_train", "critic"):
            data_ranks = len(placement[role]) // (tp * cp)
            values[f"{role}.training_args.gradient_accumulation_steps"] = 4 // data_ranks
    return values
