"""One self-contained HTML page about many runs."""

from lft.analysis.report.page import report_page, write_report

__all__ = ["report_page", "write_report"]
