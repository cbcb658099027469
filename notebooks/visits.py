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
# # What each visit does
#
# A block that is visited several times serves several places of the route with one set of weights. This
# notebook asks what its visits have in common: whether one of them dominates what the block learns, whether
# they pull the same way, and what each is worth once the model is trained.
#
# `2·3` means the third visit of block 2. Everything is measured on the same held-out sequences in every run,
# at an interval of training tokens (`diagnostics.every_tokens`) and, for skipped steps, at milestones. Where
# an arm has several seeds, numbers are means over them. `LFT_RUNS` names the folder of runs.

# %%
from lft.analysis import (
    figure_or_reason,
    gradient_changes,
    loss_by_step,
    losses_without,
    other_routes,
    print_routes,
    print_unfinished,
    print_visits,
    runs_location,
    share_across_scales,
    skipped_steps,
    visit_cosines,
    visit_heat_map,
    visits_table,
)

RUNS = runs_location()
visits = visits_table(RUNS)
print_unfinished(RUNS)

# %% [markdown]
# ## Which visits carry the gradient, and does that change?
#
# The gradient of a shared block is the sum of one term for each visit. The *share* of a visit is the norm of
# its term among the sum of the norms: equal visits of a block visited three times have a third each, a block
# visited once has all. The map shows the share over training, the table its first, middle and last value.

# %%
visit_heat_map(visits, "gradient_share")

# %%
print_visits(gradient_changes(visits, "gradient_share"))

# %% [markdown]
# The optimizer rescales every parameter, so a visit with a large gradient need not move the weights much.
# Under AdamW's own metric, the gradient divided by the root of its running mean square, the shares are:

# %%
print_visits(gradient_changes(visits, "adamw_share"))

# %% [markdown]
# ## Do the visits agree?
#
# The cosine between the gradients of two visits of a block at the end of training: 1 where both ask for the
# same change, 0 where they have nothing to do with each other, below 0 where what helps one hurts the other.

# %%
figure_or_reason(visit_cosines, visits)

# %% [markdown]
# ## Which could be dropped?
#
# The loss of the trained model on the same tokens with one step skipped, minus its loss with all steps; and
# the same along other routes over the same weights: cut to the standard order, or with one revisit more or
# fewer than it was trained with. Lines are two standard errors to each side; where they reach across zero,
# the model does not measurably miss the step. That holds for *this model*: one trained without the step may
# use the others differently. Nor do single steps add up: two that are each dispensable may stand in for one
# another.

# %%
figure_or_reason(losses_without, visits)

# %%
print_visits(skipped_steps(visits))

# %%
print_routes(other_routes(visits))

# %% [markdown]
# ## Where is the prediction made?
#
# Final norm and head read the residual stream after every step (a logit lens). A step after which the loss
# falls adds to the prediction in a form the head can read already; one after which it rises prepares later
# steps. *emb* is the embedding alone.

# %%
loss_by_step(visits)

# %% [markdown]
# ## Is the shape the same across scales and seeds?
#
# The share at the end of training against depth, the step's place in the route. Thin lines are seeds: where
# they lie apart, a single run says little.

# %%
share_across_scales(visits, "gradient_share")

# %% [markdown]
# ## What the steps do to the residual stream
#
# The norm of what a step adds, relative to what it read. A visit that adds almost nothing is a candidate for
# dropping; one that grows over training has found work.

# %%
visit_heat_map(visits, "update_ratio")

# %% [markdown]
# ## What this does not say
#
# A gradient is measured at one point of training on a few sequences; its share says who speaks loudest, not
# who is right. Skipping a step shows what this model needs, not what a model trained without it would lose:
# for that, train the other route (`sweeps/controls.yaml`, `sweeps/revisits.yaml`).
