"""Report: a release told to people, as one HTML page that needs nothing else.

A face: it reads release.json and certificate.json, knows no row, and measures nothing.  The public
page is made of those two files alone, so that no slip of a template can leak what is private.
"""

from privsieve.report.page import NAME as NAME
from privsieve.report.page import html as html
from privsieve.report.page import internal_html as internal_html
from privsieve.report.page import ready as ready
from privsieve.report.page import write_report as write_report
