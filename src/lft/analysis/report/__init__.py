"""One self-contained HTML page about many runs."""

from lft.analysis.report.page import report_page, write_report
from lft.analysis.report.paper import write_figures
from lft.analysis.report.targets import check_folder, check_page

__all__ = ["check_folder", "check_page", "report_page", "write_figures", "write_report"]
