"""Figures that a notebook shows once."""

import io

import matplotlib
from matplotlib._pylab_helpers import Gcf
from matplotlib.figure import Figure


class ShownOnce(Figure):
    """A Figure of pyplot that a cell of a notebook shows once.

    A notebook shows what the last line of a cell returns, and then what pyplot holds open. A figure that is both would
    be shown twice.
    """

    _last_cell: int | None = None

    def _ipython_display_(self) -> None:
        from IPython import get_ipython
        from IPython.display import Image, display

        cell = get_ipython().execution_count
        if self._last_cell == cell or self._has_a_window:
            return
        self._last_cell = cell
        picture = io.BytesIO()
        self.savefig(picture, format="png", bbox_inches="tight")
        display(Image(picture.getvalue()))

    @property
    def _has_a_window(self) -> bool:
        is_open = any(manager.canvas.figure is self for manager in Gcf.get_all_fig_managers())
        return is_open and "inline" not in matplotlib.get_backend()
