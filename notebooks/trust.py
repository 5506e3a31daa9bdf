# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Crash safety: what a kill or a damaged file leaves behind
#
# What a kill leaves behind was tried {glue:text}`n-kills` times, at random moments. Of the {glue:text}`n-next` commands
# given next, {glue:text}`n-wrong` ended otherwise than an undisturbed one, or had half a file to read. With 95 %
# confidence, at most {glue:text}`bound` would.
#
# Readers were given {glue:text}`n-answers` damaged files and names. All but {glue:text}`n-unanswered` ended in a value or
# in one sentence. Such a value need not be the one that was written.

# %% tags=["remove-cell"]
import json

import pandas as pd
from scipy.stats import binomtest

from attngeo.display.page import glue, table
from attngeo.files.checkout import data

kills, fuzz = (json.loads(data("drills", f"{name}.json").read_text("utf-8")) for name in ("kills", "fuzz"))
SIGNALS = ["SIGKILL", "SIGTERM", "SIGINT"]
KINDS = ("train", "survey")  # other commands, of which kills were recorded too, execute chapters in another way today
drills = [drill for drill in kills["drills"] if drill["kills"] and drill["kind"] in KINDS]
same = [drill["equal"] and not drill["wrong"] for drill in drills]
rows = pd.DataFrame(
    [
        {"killed": f"`{drill['kind']}`"}
        | {name: sum(sent == name for sent, *_ in drill["kills"]) for name in SIGNALS}
        | {"next": 1, "same": end}
        for drill, end in zip(drills, same, strict=True)
    ]
)
commands = rows.groupby("killed", sort=False).sum().astype(int)
assert commands[SIGNALS].sum().sum() == sum(len(drill["kills"]) for drill in drills)
wrong = len(drills) - sum(same)

glue("n-kills", sum(len(drill["kills"]) for drill in drills))
glue("n-next", len(drills))
glue("n-wrong", wrong or "none")
glue("bound", binomtest(wrong, len(drills), alternative="less").proportion_ci(0.95).high, ".1%")
glue("n-own", sum(drill["own process"] for drill in drills))
glue("n-answers", sum(sum(counts.values()) for counts in fuzz["answers"].values()), ",")
glue("n-unanswered", fuzz["failed"] or "none")
glue("n-anew", sum(drill["then"] == "begun anew" for drill in drills) or "none")
glue("kills-made", f"{kills['date']}, commit {kills['commit']}, {kills['device']}, SEED={kills['seed']}")
glue("fuzz-made", f"{fuzz['date']}, commit {fuzz['commit']}, TRIED={fuzz['inputs']} SEED={fuzz['seed']}")

# %% tags=["remove-input"]
table(
    commands,
    name="tab-trust-kills",
    caption="Kills of `attngeo train` and `attngeo survey` by signal; commands given next, and those of them that came to "
    "the same end as an undisturbed one.",
)

# %% [markdown]
# The *same* end means the same bits, without dates: loss, scores, pictures and weights of a run, tables of a survey. Of the killed commands {glue:text}`n-own` were processes of their own. The rest were forked from one
# that had loaded the libraries, so few moments fell into imports.
#
# What was there before stays until a new file is whole. There are two exceptions.
#
# - A killed survey loses the former record of the model that it was writing anew. That model counts as unfinished, and
#   `--resume` scores it again.
# - A training run that dies before its first checkpoint ({glue:text}`n-anew` did) has nothing to go on from. `--resume`
#   says so.
#
# Temporary files, whose names begin with a dot, can be left.
#
# Nothing of a file is executed. Weights are read from safetensors, GGUF, or by `torch.load(weights_only=True)`. A changed
# byte within weights is scored as it stands, since these files carry no checksum. Checkpoints of our own runs do:
# `--resume` passes over one that differs from its `manifest.json`.
#
# Not tried were power cuts, GGUF files with random damage, disks that return other bytes than were written, and commands
# at their full length.
#
# Kills: {glue:text}`kills-made`; files: {glue:text}`fuzz-made`. `make drills` and `make fuzz` with these seeds draw the
# same signals, moments and files again and write `data/drills`.
