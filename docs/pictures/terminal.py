#!/usr/bin/env python3
"""A terminal's screen as SVG, from what `tmux capture-pane -e -p` prints.

tmux capture-pane -e -p -t SESSION | python3 docs/pictures/terminal.py > screen.svg
"""

import re
import sys
from html import escape
from itertools import groupby

CELL, LINE, SIZE = 8.4, 18, 14
INK, PAPER = "#d8dee9", "#1e222a"
COLOURS = ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9"]
BRIGHT = ["#7f8896", "#ff7a85", "#b5e090", "#ffd68a", "#82c4ff", "#dd9bf0", "#7fd8e2", "#ffffff"]
PLAIN = {"ink": None, "paper": None, "bold": False, "dim": False, "turned": False}


def colour(codes):
    """Takes the colour that follows a 38 or 48 off the codes."""
    kind = codes.pop(0)
    if kind == 2:
        return "#%02x%02x%02x" % tuple(codes.pop(0) for _ in range(3))
    number = codes.pop(0)
    if number < 16:
        return (COLOURS + BRIGHT)[number]
    if number < 232:
        levels = [0, 95, 135, 175, 215, 255]
        number -= 16
        return "#%02x%02x%02x" % tuple(levels[number // by % 6] for by in (36, 6, 1))
    return "#" + "%02x" % (8 + 10 * (number - 232)) * 3


def restyle(style, codes):
    style, codes = dict(style), list(codes)
    while codes:
        code = codes.pop(0)
        if code == 0:
            style = dict(PLAIN)
        elif code in (1, 2, 7):
            style[{1: "bold", 2: "dim", 7: "turned"}[code]] = True
        elif code in (22, 27):
            style |= {"turned": False} if code == 27 else {"bold": False, "dim": False}
        elif code in (38, 48):
            style["ink" if code == 38 else "paper"] = colour(codes)
        elif code in (39, 49):
            style["ink" if code == 39 else "paper"] = None
        elif 30 <= code < 48:
            style["ink" if code < 40 else "paper"] = COLOURS[code % 10]
        elif 90 <= code < 108:
            style["ink" if code < 100 else "paper"] = BRIGHT[code % 10]
    return style


def cells(line, style):
    """Returns the cells of a line with their styles, and the style it ends with."""
    found = []
    for part in re.split(r"(\x1b\[[\d;]*m)", line):
        if part.startswith("\x1b["):
            style = restyle(style, [int(code or 0) for code in part[2:-1].split(";")])
        else:
            found += [(letter, style) for letter in part if letter not in "\x0e\x0f"]
    return found, style


def drawn(row, line):
    """Yields a line as shapes; what fonts may lack, frames, bars and dots, is drawn by itself."""
    at = 0
    for style, group in groupby(line, key=lambda cell: cell[1]):
        text = "".join(letter for letter, _ in group)
        ink, paper = style["ink"] or INK, style["paper"]
        if style["turned"]:
            ink, paper = paper or PAPER, ink
        if paper:
            yield f'<path fill="{paper}" d="{box(at * CELL, row * LINE, len(text) * CELL, LINE)}"/>'
        shapes = "".join(shape(letter, at + n, row) for n, letter in enumerate(text))
        if shapes:
            yield f'<path fill="{ink}" d="{shapes}"/>'
        more = ' font-weight="bold"' * style["bold"] + ' opacity="0.6"' * style["dim"]
        for word in re.finditer(r"[^\s\u2500-\u259f\u2800-\u28ff]+", text):
            x, wide = (at + word.start()) * CELL, len(word[0]) * CELL
            yield (
                f'<text x="{x:.1f}" y="{row * LINE + 13}" fill="{ink}"{more} '
                f'textLength="{wide:.1f}">{escape(word[0])}</text>'
            )
        at += len(text)


def box(x, y, wide, high):
    return f"M{x:.1f} {y:.1f}h{wide:.1f}v{high:.1f}h{-wide:.1f}z"


def shape(letter, column, row):
    """Returns a cell of a frame, a bar or a curve as a path; other letters are text."""
    x, y = column * CELL, row * LINE
    if "\u2581" <= letter <= "\u2588":
        high = LINE * (ord(letter) - 0x2580) / 8
        return box(x, y + LINE - high, CELL, high)
    if "\u2800" <= letter <= "\u28ff":
        # The dots of a cell in the order of their bits.
        dots = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]
        bits = [place for bit, place in enumerate(dots) if ord(letter) >> bit & 1]
        return "".join(box(x + 1 + 4.2 * i, y + 1.2 + 4.5 * j, 2.2, 2.2) for i, j in bits)
    arms = {"─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu"}.get(letter, "")
    half_x, half_y = CELL / 2, LINE / 2
    lines = {
        "l": box(x, y + half_y, half_x, 1),
        "r": box(x + half_x, y + half_y, half_x, 1),
        "u": box(x + half_x, y, 1, half_y),
        "d": box(x + half_x, y + half_y, 1, half_y),
    }
    return "".join(lines[arm] for arm in arms)


def main():
    lines, style = [], PLAIN
    for text in sys.stdin.read().rstrip("\n").split("\n"):
        line, style = cells(text, style)
        lines.append(line)
    wide, high = max(map(len, lines)) * CELL, len(lines) * LINE
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-8 -8 {wide + 16:.0f} {high + 16}" '
        f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}">'
    )
    print(
        f'<rect x="-8" y="-8" width="{wide + 16:.0f}" height="{high + 16}" rx="8" fill="{PAPER}"/>'
    )
    for row, line in enumerate(lines):
        print("\n".join(drawn(row, line)))
    print("</svg>")


main()
