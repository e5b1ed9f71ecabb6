"""Figures of charts: each has its data, draws itself as SVG in a notebook with nothing to load from anywhere, and by matplotlib where that is
installed."""
import math

from .. import html

WIDTH, HEIGHT, LEFT, BOTTOM, COLUMNS = 640, 200, 60, 34, 320
COLOURS = ("#2060a0", "#c06020", "#308040", "#a03060", "#707070", "#6040a0")


def _finite(values):
    return [value for value in values if math.isfinite(value)]


class Figure:
    """`data` has the numbers: of lines {name: (x, y)}, of bars "left", "right", "top", of a heat map "rows" and "values" from 0 to 100, of spans
    {name: [(begin, end)]}."""

    def __init__(self, title, data, x="", y="", width=WIDTH, height=HEIGHT):
        self.title, self.data, self.x, self.y, self.width, self.height = title, data, x, y, width, height

    def __repr__(self):
        return "<%s %s>" % (type(self).__name__, self.title)

    def _repr_html_(self):
        return html.block(self.title, self.svg())

    def svg(self):
        (left, right), (low, high) = self.limits()
        body = "".join(self.marks(self._scale(left, right, LEFT, self.width - 4), self._scale(low, high, self.height - BOTTOM, 4)))
        ends = [(LEFT, "start", left), (self.width - 4, "end", right)]
        labels = "".join("<text x='%d' y='%d' text-anchor='%s'>%s</text>" % (at, self.height - BOTTOM + 14, side, html.text(value))
                         for at, side, value in ends)
        labels += "".join("<text x='%d' y='%d' text-anchor='end'>%s</text>" % (LEFT - 4, at, html.text(value))
                          for at, value in self.marked(low, high))
        labels += "<text x='%d' y='%d' text-anchor='middle'>%s</text>" % ((LEFT + self.width) / 2, self.height - 4, html.text(self.x))
        return "<svg width='%d' height='%d' role='img' aria-label='%s' font-size='10' font-family='sans-serif'>%s%s</svg>" % (
            self.width, self.height, html.text(self.title), body, labels)

    def marked(self, low, high):
        """(y of the drawing, text) at its left side."""
        return [(self.height - BOTTOM, low), (14, high)]

    @staticmethod
    def _scale(low, high, first, last):
        return lambda value: first + (value - low) / ((high - low) or 1) * (last - first)

    def plot(self, axes=None):
        """Draws it by matplotlib, into these axes or new ones, and returns them."""
        if axes is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError("plot() draws by matplotlib: install it; the figure shows itself in a notebook, and `data` has the numbers") from None
            axes = pyplot.subplots()[1]
        self.draw(axes)
        axes.set_title(self.title)
        axes.set_xlabel(self.x)
        axes.set_ylabel(self.y)
        return axes


class Lines(Figure):
    def limits(self):
        x = _finite(value for xs, _ in self.data.values() for value in xs) or [0]
        y = _finite(value for _, ys in self.data.values() for value in ys) or [0]
        return (min(x), max(x)), (min(y), max(y))

    def marks(self, x, y):
        for (name, (xs, ys)), colour in zip(self.data.items(), COLOURS * len(self.data)):
            points = ["%.1f,%.1f" % (x(a), y(b)) for a, b in zip(xs, ys) if math.isfinite(a) and math.isfinite(b)]
            yield "<polyline points='%s' fill='none' stroke='%s'><title>%s</title></polyline>" % (" ".join(points), colour, html.text(name))

    def draw(self, axes):
        for name, (xs, ys) in self.data.items():
            axes.plot(xs, ys, label=name)
        axes.legend() if len(self.data) > 1 else None


class Bars(Figure):
    def limits(self):
        return (min(self.data["left"], default=0), max(self.data["right"], default=1)), (0, max(self.data["top"], default=1))

    def marks(self, x, y):
        for left, right, top in zip(self.data["left"], self.data["right"], self.data["top"]):
            yield "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='%s'><title>%s</title></rect>" % (
                x(left), y(top), max(x(right) - x(left) - 0.5, 0.5), y(0) - y(top), COLOURS[0], html.text("%g to %g: %d" % (left, right, top)))

    def draw(self, axes):
        axes.bar(self.data["left"], self.data["top"], [b - a for a, b in zip(self.data["left"], self.data["right"])], align="edge")


class _Rows(Figure):
    """A row for each name, from the top down."""

    def __init__(self, title, data, names, x=""):
        super().__init__(title, data, x, height=BOTTOM + 14 * max(len(names), 1) + 4, width=WIDTH + 140)
        self.names = names

    def limits(self):
        return self.extent(), (len(self.names), 0)

    def marked(self, low, high):
        return ()

    def svg(self):
        shown = "".join("<text x='%d' y='%d'>%s</text>" % (WIDTH + 8, 14 + 14 * row, html.text(name)) for row, name in enumerate(self.names))
        width, self.width = self.width, WIDTH
        drawn = super().svg()
        self.width = width
        return drawn.replace("<svg width='%d'" % WIDTH, "<svg width='%d'" % width).replace("</svg>", shown + "</svg>")

    def draw(self, axes):
        axes.set_yticks([row + 0.5 for row in range(len(self.names))])
        axes.set_yticklabels(self.names)


class Heat(_Rows):
    def extent(self):
        return 0, max((len(row) for row in self.data["values"]), default=1)

    def marks(self, x, y):
        for number, row in enumerate(self.data["values"]):
            step = max(1, math.ceil(len(row) / COLUMNS))  # more than that cannot be told apart: the mean of each few
            for at in range(0, len(row), step):
                part = _finite(row[at:at + step])
                use = sum(part) / len(part) if part else 0
                yield "<rect x='%.1f' y='%.1f' width='%.1f' height='13' fill='hsl(%d,70%%,%d%%)'/>" % (
                    x(at), y(number) , x(min(at + step, len(row))) - x(at) + 0.3, 240 - 2 * min(max(use, 0), 100), 30 + min(max(use, 0), 100) * 0.3)

    def draw(self, axes):
        super().draw(axes)
        for number, row in enumerate(self.data["values"]):
            axes.imshow([row], extent=(0, len(row), number, number + 1), vmin=0, vmax=100, aspect="auto")
        axes.set_ylim(len(self.names), 0)


class Spans(_Rows):
    def extent(self):
        ends = [end for spans in self.data.values() for span in spans for end in span] or [0]
        return min(ends), max(ends)

    def marks(self, x, y):
        for number, (name, spans) in enumerate(self.data.items()):
            for begin, end in spans:
                yield "<rect x='%.1f' y='%.1f' width='%.1f' height='12' fill='%s' fill-opacity='0.5'><title>%s</title></rect>" % (
                    x(begin), y(number), max(x(end) - x(begin), 0.5), COLOURS[number % len(COLOURS)], html.text(name))

    def draw(self, axes):
        super().draw(axes)
        for number, spans in enumerate(self.data.values()):
            axes.broken_barh([(begin, end - begin) for begin, end in spans], (number, 0.9))
        axes.set_ylim(len(self.names), 0)


class Chart:
    """Figures that a notebook shows when they are made, and again where the chart stands at the end of a cell."""
    figures = ()

    def _repr_html_(self):
        return "".join(figure._repr_html_() for figure in self.figures) or html.block("nothing to draw")

    def plot_matplotlib(self):
        return [figure.plot() for figure in self.figures]

    def _show(self):
        """In a notebook; scripts ask for `figures`."""
        try:
            from IPython import display, get_ipython
        except ImportError:
            return
        if get_ipython() is not None:
            display.display(self)
