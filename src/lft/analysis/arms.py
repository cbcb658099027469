"""The labels of arms, taken apart: what kind of routing, with which options, trained how."""

from dataclasses import dataclass

# Words of a label that say how shared blocks are trained, and what an arm's length is matched to.
SHARING_WORDS = frozenset(
    "residual_init learning_rate weight_decay gradient visit_conditioning feedback_after".split()
)
MATCH_WORD = "match"


@dataclass(frozen=True)
class ArmLabel:
    """An arm's label, such as `lft revisits=2 gradient=last match=flops:standard`.

    Attributes:
        family: The routing's name.
        options: Its options that are not the usual ones, by name.
        conditions: How it is trained, where that is not the usual way: sharing and match, by name.
    """

    family: str
    options: dict[str, str]
    conditions: dict[str, str]

    @classmethod
    def parse(cls, label: str) -> "ArmLabel":
        """Take a label apart."""
        family, *words = label.split(" ")
        named = dict(word.partition("=")[::2] for word in words)
        conditions = {key: value for key, value in named.items() if key in {*SHARING_WORDS, MATCH_WORD}}
        options = {key: value for key, value in named.items() if key not in conditions}
        return cls(family, options, conditions)
