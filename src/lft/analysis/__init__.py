"""From run folders to tables, figures and paired differences; needs neither torch nor the training code."""

from lft.analysis.bands import seed_bands
from lft.analysis.comparison import comparison_table
from lft.analysis.console import print_comparison, print_pairs, print_runs
from lft.analysis.crossings import crossings_table
from lft.analysis.deployment import deployment_table, exports_table
from lft.analysis.figures import ROUTING_COLOURS, differences_by_routing, loss_against, routing_colour
from lft.analysis.items import Evaluation, evaluations, items_table
from lft.analysis.notebook import execute, runs_location
from lft.analysis.orders import option_curve, order_effects
from lft.analysis.pairs import paired_differences, pairs_table
from lft.analysis.pictures import save_pictures
from lft.analysis.published import (
    paired_questions_needed,
    power_of,
    published_differences,
    published_table,
    questions_needed,
    seeds_needed,
)
from lft.analysis.records import RunRecord, read_records
from lft.analysis.recurrence import fit_recurrence, recurrence_table
from lft.analysis.report import write_figures, write_report
from lft.analysis.request import answer, choose, number, parse_request
from lft.analysis.reruns import noise_floor
from lft.analysis.study_figures import (
    deviations_by_order,
    difference_along,
    differences_by_budget,
    frontier,
    loss_bands,
    save_figure,
    task_forest,
)
from lft.analysis.tables import curves_table, runs_table
from lft.analysis.task_console import print_evaluations, score_text
from lft.analysis.task_differences import task_differences
from lft.analysis.task_scores import scores_table
from lft.analysis.two_way import differences_over_seeds
from lft.analysis.verdicts import claims_of, verdicts_table
from lft.analysis.visit_console import (
    figure_or_reason,
    print_routes,
    print_unfinished,
    print_visits,
)
from lft.analysis.visit_figures import (
    STATISTIC_NAMES,
    loss_by_step,
    losses_without,
    share_across_scales,
    visit_cosines,
    visit_heat_map,
)
from lft.analysis.visits import (
    gradient_changes,
    other_routes,
    skipped_steps,
    visit_means,
    visit_pairs,
    visits_table,
)

__all__ = [
    "ROUTING_COLOURS",
    "STATISTIC_NAMES",
    "Evaluation",
    "RunRecord",
    "answer",
    "choose",
    "claims_of",
    "comparison_table",
    "crossings_table",
    "curves_table",
    "deployment_table",
    "deviations_by_order",
    "difference_along",
    "differences_by_budget",
    "differences_by_routing",
    "differences_over_seeds",
    "evaluations",
    "execute",
    "exports_table",
    "figure_or_reason",
    "fit_recurrence",
    "frontier",
    "gradient_changes",
    "items_table",
    "loss_against",
    "loss_bands",
    "loss_by_step",
    "losses_without",
    "noise_floor",
    "number",
    "option_curve",
    "order_effects",
    "other_routes",
    "paired_differences",
    "paired_questions_needed",
    "pairs_table",
    "parse_request",
    "power_of",
    "print_comparison",
    "print_evaluations",
    "print_pairs",
    "print_routes",
    "print_runs",
    "print_unfinished",
    "print_visits",
    "published_differences",
    "published_table",
    "questions_needed",
    "read_records",
    "recurrence_table",
    "routing_colour",
    "runs_location",
    "runs_table",
    "save_figure",
    "save_pictures",
    "score_text",
    "scores_table",
    "seed_bands",
    "seeds_needed",
    "share_across_scales",
    "skipped_steps",
    "task_differences",
    "task_forest",
    "verdicts_table",
    "visit_cosines",
    "visit_heat_map",
    "visit_means",
    "visit_pairs",
    "visits_table",
    "write_figures",
    "write_report",
]
