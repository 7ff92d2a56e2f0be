"""Pages that the program wrote, for Jupyter."""

import html
from pathlib import Path


class Page:
    """An HTML page in a file. Jupyter shows it; it has no scripts."""

    def __init__(self, path):
        self.path = Path(path)
        self._text = self.path.read_text(encoding="utf-8")

    def __repr__(self):
        return f"Page({str(self.path)!r})"

    def _repr_html_(self):
        # In a frame of its own, so that its styles do not touch the notebook's.
        return f'<iframe srcdoc="{html.escape(self._text)}" width="100%" height="720" style="border:0"></iframe>'
