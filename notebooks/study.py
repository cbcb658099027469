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
# # What revisiting blocks buys
#
# The questions of the study, one after the other, over all runs of a folder. `LFT_RUNS` names it.

# %%
from lft.analysis import (
    claims_of,
    comparison_table,
    crossings_table,
    curves_table,
    deployment_table,
    deviations_by_order,
    difference_along,
    differences_by_budget,
    differences_by_routing,
    differences_over_seeds,
    exports_table,
    figure_or_reason,
    frontier,
    loss_bands,
    option_curve,
    order_effects,
    pairs_table,
    print_comparison,
    print_runs,
    recurrence_table,
    runs_location,
    runs_table,
    verdicts_table,
)

RUNS = runs_location()

# %% [markdown]
# ## Verdicts
#
# Claims that were written down before the runs (`claims:` in a sweep). *Supported*: the Holm-adjusted p of
# the paired t test is below 5 % and the mean benefit is at least the smallest effect. *Refuted*: the
# one-sided 95 % bound of the benefit lies below the smallest effect. *Undecided* otherwise, and before the
# planned pairs are there. `detectable` is the true benefit that so many pairs of this spread would show
# with 80 % power.

# %%
claims_of(RUNS)

# %%
verdicts_table(RUNS)

# %% [markdown]
# ## Loss against tokens, compute, time and energy
#
# Means over seeds with 95 % bands. Within a run the learning rate has not decayed yet; only end points
# compare fairly.

# %%
curves = curves_table(RUNS)
figure_or_reason(loss_bands, curves, "train/tokens")

# %%
figure_or_reason(loss_bands, curves, "train/flops")

# %%
figure_or_reason(loss_bands, curves, "perf/seconds")

# %%
figure_or_reason(loss_bands, curves, "perf/joules")

# %%
figure_or_reason(loss_bands, curves, "train/tokens", "val/bits_per_byte")

# %%
figure_or_reason(loss_bands, curves, "train/flops", "val/bits_per_byte")

# %% [markdown]
# ## Where curves cross
#
# `low` and `high` bound the places that the seeds leave possible; infinite where they leave an end open.

# %%
pairs = pairs_table(RUNS)
crossings_table(curves, pairs)

# %%
crossings_table(curves, pairs, x="train/flops")

# %% [markdown]
# ## The difference by routing, scale and budget
#
# Arms with `match=flops` or `match=wallclock` are compared at equal compute or time.

# %%
comparison = comparison_table(RUNS)
print_comparison(comparison)

# %%
figure_or_reason(differences_by_routing, comparison, pairs)

# %%
figure_or_reason(differences_by_budget, comparison)

# %% [markdown]
# The same with both uncertainties: which seeds were trained, and which validation text was read.
# `seed_error` and `item_error` say which of the two is the larger.

# %%
differences_over_seeds(RUNS, ["validation"]).round(4)

# %% [markdown]
# ## Does the order matter?
#
# Routings with as many steps, parameters and tokens, each against their mean, seed by seed. `p_order` tests
# that all orders are worth the same.

# %%
orders = order_effects(RUNS)
orders.round(4)

# %%
figure_or_reason(deviations_by_order, orders)

# %% [markdown]
# ## How many revisits, and where?

# %%
figure_or_reason(difference_along, option_curve(comparison, "revisits", default=1), "revisits")

# %%
figure_or_reason(difference_along, option_curve(comparison, "feedback_at"), "feedback_at")

# %% [markdown]
# ## What a further visit is worth
#
# phi in N_eff = sum of visits^phi x block parameters: 0 if further visits are worth nothing, 1 if they are
# worth blocks of their own. The fit says so when the runs cannot tell.

# %%
recurrence_table(RUNS)

# %% [markdown]
# ## Which arm under which constraint
#
# Filled: no other arm has both a lower loss and no more of the cost.

# %%
costs = deployment_table(RUNS)
costs.round(4)

# %%
figure_or_reason(frontier, costs, "stored_bytes")

# %%
figure_or_reason(frontier, costs, "forward_flops_per_token")

# %%
figure_or_reason(frontier, costs, "peak_memory_bytes")

# %%
figure_or_reason(frontier, costs, "joules")

# %% [markdown]
# The same in use, of the runs that were exported (`python src/export.py run=RUN format=llama`):

# %%
exports = exports_table(RUNS)
exports.round(6)

# %%
figure_or_reason(frontier, exports, "resident_bytes")

# %%
figure_or_reason(frontier, exports, "seconds_per_token")

# %%
figure_or_reason(frontier, exports, "joules_per_token")

# %% [markdown]
# ## The runs

# %%
print_runs(runs_table(RUNS))
