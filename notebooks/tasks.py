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
# # Task by task
#
# What the runs answered when they were asked (`python src/eval.py`), and what two arms differ by, paired
# over items. At these sizes accuracies sit near chance, so validation loss is the primary outcome; an
# average hides which tasks move. `LFT_RUNS` names the folder.

# %%
from lft.analysis import (
    differences_over_seeds,
    figure_or_reason,
    print_evaluations,
    runs_location,
    scores_table,
    task_differences,
    task_forest,
)

RUNS = runs_location()

# %% [markdown]
# ## Scores and differences

# %%
print_evaluations(RUNS)

# %%
figure_or_reason(task_forest, task_differences(RUNS))

# %% [markdown]
# ## Over seeds and items together
#
# Another seed gives another model, other items another score: the interval covers both.

# %%
differences_over_seeds(RUNS).round(4)

# %% [markdown]
# ## All numbers

# %%
scores_table(RUNS)

# %%
task_differences(RUNS)

# %% [markdown]
# ## What this does not say
#
# Many tasks and categories make some of them look different by chance. The intervals of single pairs cover
# the choice of items alone.
