"""What notebooks show of a trial, a tensor and a report: small tables, with nothing to load from anywhere."""
import html
import math

ROWS = 30  # of a table


def text(value):
    if isinstance(value, float):
        value = "%.6g" % value
    return html.escape(str(value))


def table(rows, head=()):
    """Rows of cells; a long one says how many are left out."""
    shown = [tuple(row) for row in rows[:ROWS]]
    body = "".join("<tr>%s</tr>" % "".join("<td style='text-align:left'>%s</td>" % text(cell) for cell in row) for row in shown)
    names = "<tr>%s</tr>" % "".join("<th style='text-align:left'>%s</th>" % text(name) for name in head) if head else ""
    more = "<p>and %d more</p>" % (len(rows) - ROWS) if len(rows) > ROWS else ""
    return "<table>%s%s</table>%s" % (names, body, more)


def block(title, *parts):
    return "<div><p><b>%s</b></p>%s</div>" % (text(title), "".join(parts))


def curve(points, width=360, height=80):
    """A line through (x, y), drawn; points that are not finite are gaps. Nothing where there are fewer than two."""
    sound = [(x, y) for x, y in points if math.isfinite(y)]
    if len(sound) < 2:
        return ""
    low, high = min(y for _, y in sound), max(y for _, y in sound)
    first, last = points[0][0], points[-1][0]
    pieces, open_ = [], False
    for x, y in points:
        if not math.isfinite(y):
            open_ = False
            continue
        at = ((x - first) / ((last - first) or 1) * (width - 4) + 2, height - 2 - (y - low) / ((high - low) or 1) * (height - 4))
        pieces.append("%s%.1f %.1f" % ("L" if open_ else "M", *at))
        open_ = True
    return ("<svg width='%d' height='%d' role='img' aria-label='%s to %s'><path d='%s' fill='none' stroke='#2060a0'/></svg>"
            "<p>steps %s to %s, values %s to %s</p>") % (width, height, text(low), text(high), " ".join(pieces), text(first), text(last),
                                                       text(low), text(high))
