# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A routing against its baseline
#
# Does running some blocks more than once buy anything, and is it the route or only the extra compute?
# This notebook looks at pairs of runs that are equal in everything (parameters, initial weights, data,
# order of the batches, optimizer, token budget, seed) except the **routing**, the order in which the
# stored blocks run.
#
# It reads run folders and nothing else: no GPU, no account, no training code. `LFT_RUNS` names the folder;
# without it, `runs` in the repository is read.

# %%
from lft.analysis import (
    curves_table,
    loss_against,
    paired_differences,
    pairs_table,
    print_pairs,
    print_runs,
    runs_location,
    runs_table,
)

RUNS = runs_location()

# %% [markdown]
# ## The runs
#
# One row a run. *FLOP ratio* is the total training compute relative to the standard routing of the same
# scale and budget, output head included; compute is compared by this number, not by the ratio of block
# executions, which is larger. A run that is not done shows the last validation it reached and takes no part
# in the comparison at the end.

# %%
print_runs(runs_table(RUNS))

# %% [markdown]
# ## Loss against tokens
#
# Every run has seen the same text at the same place on this axis: **equal data, unequal compute**. If a
# routing's validation line (marked) lies below the standard one, revisiting blocks has made better use of
# the same parameters and the same text, at the price of the FLOP ratio above. Thin lines are the loss of
# single training batches, before the weights are updated on them; they are noisy and decide nothing.

# %%
curves = curves_table(RUNS)
loss_against(curves, x="train/tokens")

# %% [markdown]
# ## Loss against training compute
#
# The same runs, each moved right by what its tokens cost: read downwards, this is **equal compute, unequal
# data**. Where the standard line is lower here, the compute would have been better spent on more text.
#
# Two cautions. The learning rate of each run decays over *its own* budget, so a point before the end of a
# run is worse than a run planned to stop there; only end points compare fairly. And a baseline with the
# same stored blocks is not the only way to spend the compute: a deeper or wider model is another.

# %%
loss_against(curves, x="train/flops")

# %% [markdown]
# ## The paired difference
#
# Both runs of a pair start from the same weights and see the same batches, so what the seed does to both
# cancels in their difference. *difference* is the mean over seeds of the final validation loss minus that
# of the baseline; **below zero, the routing is better**. *sd* is the spread of that difference over seeds.
# The interval is Student's 95 % interval of the mean: if it contains zero, these seeds do not settle the
# sign. With one seed there is no interval and no conclusion, however large the difference looks.
#
# Runs that differ from the baseline in anything else, a learning rate for example, are not pooled; they
# are listed with the key in which they differ.

# %%
print_pairs(paired_differences(RUNS))

# %% [markdown]
# The pairs one by one: with few seeds, look at each.

# %%
pairs_table(RUNS)[
    ["routing", "scale", "budget_tokens", "seed", "value", "baseline_value", "difference", "problem"]
]

# %% [markdown]
# ## What this does not say
#
# The interval covers chance in initial weights and batch order. It does not cover the choice of the
# learning rate (one arm may suit the shared setting better than the other), the text, or the size of the
# model. A smaller loss at equal tokens is not yet an advantage at equal compute; that takes a baseline
# given the same FLOPs.
