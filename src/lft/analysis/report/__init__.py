"""One self-contained HTML page about many runs."""

from lft.analysis.report.page import report_page, write_report
from lft.analysis.report.paper import write_figures

__all__ = ["report_page", "write_figures", "write_report"]
