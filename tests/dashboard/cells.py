"""Reads back the HTML that the dashboard writes."""

from html.parser import HTMLParser


class Cells(HTMLParser):
    """Rows of a table as text, and every tag with what it carries."""

    def __init__(self, html):
        super().__init__()
        self.rows, self.tags = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data + " "

    @property
    def text(self):
        return [[" ".join(cell.split()) for cell in row] for row in self.rows]
