"""Where the runs came from, and what sets them apart."""

from typing import Any

import pandas as pd

from lft.analysis.records import RunRecord, read_records
from lft.analysis.report.section import Runs, Section
from lft.runs import as_text, flatten, result_keys, varying_keys


def configurations(runs: Runs) -> Section:
    """The keys in which the runs differ."""
    records = read_records(runs.location)
    flat = [flatten(result_keys(record.config)) for record in records]
    keys = [key for key in varying_keys(flat) if key != "seed" and not key.startswith("routing.")]
    rows = [
        {
            "run": record.folder.name,
            "arm": record.routing,
            "seed": record.seed,
            **{key: as_text(values.get(key)) for key in keys},
        }
        for record, values in zip(records, flat, strict=True)
    ]
    words = (
        f"Apart from routing and seed the runs differ in: {', '.join(keys)}."
        if keys
        else "Apart from routing and seed, all runs have the same configuration."
    )
    return Section("Configurations", [words], tables={"Differing keys": pd.DataFrame(rows)} if keys else {})


def origins(runs: Runs) -> Section:
    """Commit, data, hardware and cost, one row for each combination."""
    records = read_records(runs.location)
    # Unfinished runs count by what they have logged.
    spent = runs.runs.set_index("run_id")[["train_flops", "seconds"]].fillna(0.0)
    names = [record.folder.name for record in records]
    rows = pd.DataFrame([_origin(record) for record in records]).join(spent.loc[names].reset_index(drop=True))
    facts = [name for name in rows if name not in ("runs", "train_flops", "seconds")]
    table = rows.groupby(facts, dropna=False, sort=False).sum().reset_index()
    words = [
        f"{len(records)} runs, {rows['train_flops'].sum():.3g} training FLOPs and "
        f"{rows['seconds'].sum() / 3600:.2f} hours of training in all, unfinished runs as far as they came. "
        "Each row of the table is one combination of code, data and machine."
    ]
    fingerprints = rows["data"].nunique()
    if fingerprints > 1:
        words.append(f"The runs read {fingerprints} different data sets; such runs are never paired.")
    return Section("Provenance", words, tables={"Origins": table})


def _origin(record: RunRecord) -> dict[str, Any]:
    facts = record.record
    git, data = facts.get("git", {}), facts.get("data", {})
    hardware, packages = facts.get("hardware", {}), facts.get("packages", {})
    commit = str(git.get("commit") or "unknown")[:12]
    return {
        "commit": f"{commit}{' with changes' if git.get('dirty') else ''}",
        "data": str(data.get("fingerprint", "unknown"))[:16],
        "tokenizer": str(data.get("tokenizer_sha256", "unknown"))[:16],
        "processor": hardware.get("processor", "unknown"),
        "device": facts.get("execution", {}).get("device", "unknown"),
        "precision": facts.get("execution", {}).get("precision", "unknown"),
        "torch": packages.get("torch", "unknown"),
        "runs": 1,
    }
