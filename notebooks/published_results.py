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
# # The published numbers, read again
#
# A public study trained one seed of each arm on 500M FineWeb-Edu tokens and asked 350 questions (BananaMind
# Base Bench 1.1, chance 25 %). LFT was behind at 2.5M parameters, ahead at 10M, slightly ahead at 25M. Here
# are the same figures with the intervals they should have carried.

# %%
from lft.analysis import (
    paired_questions_needed,
    power_of,
    published_differences,
    published_table,
    questions_needed,
    seeds_needed,
)

published_table().round(2)

# %% [markdown]
# Every interval of a difference contains zero. The largest, 129 against 114 right answers at 10M, has z =
# 1.19 and p = 0.23: of two equally good models, about every fourth pair would look at least as different on
# so few questions. And that leaves out what another seed would change.
#
# The other figures of the study: the mean of three tasks at 25M, and the reversal at 10M, where LFT was 2.57
# points behind after 200M tokens and 4.29 points ahead after 500M:

# %%
published_differences().round(2)

# %% [markdown]
# Neither the mean of the tasks nor the reversal leaves what other questions would do.
#
# ## What 350 questions can show
#
# The chance that 350 questions for each arm show a true difference of 4 points, and of 1 point, at the 5 %
# level:

# %%
{f"{points} points": round(power_of(points, 350), 2) for points in (4, 1)}

# %% [markdown]
# ## What would settle it
#
# Questions that show the difference with 80 % power, when the arms answer separate questions, and when both
# answer the same ones and one of them alone is right on 30 % (pairing pays, since what is hard for one is
# hard for the other):

# %%
{
    f"{points} points": {
        "separate questions, each arm": questions_needed(points),
        "the same questions": paired_questions_needed(points, discordant=0.3),
    }
    for points in (4, 1)
}

# %% [markdown]
# More questions do not average out seeds. Suppose a standard deviation of 1.5 points from seed to seed, which
# one seed cannot tell. Pairs of runs that show the difference with 80 % power, where 0 means that so many
# questions leave too much open for any number:

# %%
{
    f"{points} points, {questions:,} questions": seeds_needed(points, seed_deviation=1.5, questions=questions)
    for points, questions in ((4, 350), (4, 5_000), (1, 5_000), (1, 70_000))
}

# %% [markdown]
# So one seed and 350 questions could not have told a difference of the size that was reported from none.
# Validation loss asks about every token of the validation text at once; a study that has to come to a
# decision on few runs decides on it.
