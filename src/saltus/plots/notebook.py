"""Figures that a notebook shows once."""

import io

from matplotlib._pylab_helpers import Gcf
from matplotlib.figure import Figure


class ShownOnce(Figure):
    """A Figure of pyplot that, returned by the last line of a cell, is not shown a second time.

    A notebook shows what pyplot holds open at the end of a cell. Where that has been done, or is not going to be, the
    figure shows itself as any other does.
    """

    def _ipython_display_(self) -> None:
        if any(manager.canvas.figure is self for manager in Gcf.get_all_fig_managers()):
            return
        from IPython.display import Image, display

        picture = io.BytesIO()
        self.savefig(picture, format="png")
        display(Image(picture.getvalue()))
