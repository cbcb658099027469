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
# # The route against its controls
#
# Suppose a model that revisits its blocks ends with a lower loss than the standard one. Was it the **route**,
# the **revisits** whatever their order, the **depth**, or only the **compute**? The controls take as many
# steps as LFT and change one thing each:
#
# | routing | what it isolates |
# |---|---|
# | `repeat` | the same visits, each directly after the one before: no feedback |
# | `loop` | the field's usual loop, the same number of steps |
# | `mirror` | late blocks visited more, instead of early ones |
# | `cycle` | the whole stack over and over |
# | `palindrome` | forward, back, forward |
# | `shuffle` | the same visits in random order |
# | `deep` | the anchor: weights of its own for every step |
# | `thin_deep` | the anchor's depth with the parameters of the standard model |
# | `wide` | the standard depth with the FLOPs of LFT |
#
# The runs come from `python src/train.py -cd sweeps +sweep=controls`. `LFT_RUNS` names their folder.

# %%
from lft.analysis import (
    comparison_table,
    curves_table,
    differences_by_routing,
    loss_against,
    pairs_table,
    print_comparison,
    print_runs,
    runs_location,
    runs_table,
)

RUNS = runs_location()

# %% [markdown]
# ## Against the standard model
#
# Best first. *difference* is paired over seeds: both runs of a pair start from the same seed and see the same
# batches. The interval is Student's 95 % interval of the mean over seeds; where it contains zero, these seeds
# do not settle the sign.
#
# **rho**, the recovery fraction, is the share of the anchor's gain over the standard model that an arm keeps
# although its weights are shared: 0 is the standard model, 1 the untied twin. It has no meaning where the
# anchor itself does not beat the standard model by more than the seeds' noise, as happens in short runs, in
# which depth costs before it pays; the lines under the table say so.

# %%
comparison = comparison_table(RUNS)
print_comparison(comparison)

# %% [markdown]
# The same as a picture: the mean with its interval, and a tick for each seed. Left of the line is better than
# the standard model. Arms with equal steps that lie apart by more than their intervals differ by their order,
# not by their compute.

# %%
differences_by_routing(comparison, pairs_table(RUNS))

# %% [markdown]
# ## On the way
#
# Equal data in the first figure, equal compute in the second. The learning rate of each run decays over its
# own budget, so only end points compare fairly; at equal compute, use runs with `match=flops`.

# %%
curves = curves_table(RUNS)
loss_against(curves, x="train/tokens")

# %%
loss_against(curves, x="train/flops")

# %% [markdown]
# ## The runs

# %%
print_runs(runs_table(RUNS))

# %% [markdown]
# ## What this does not say
#
# All arms share one learning rate, which may suit some better than others (`sweeps/learning_rate.yaml`). The
# intervals cover chance in initial weights and batch order, each arm by itself: among ten arms, one looks
# better than it is. `shuffle` is one random order; others have another `routing.shuffle_seed`.
