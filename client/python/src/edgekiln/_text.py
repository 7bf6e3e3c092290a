"""Formats numbers and names as the command line does."""

from __future__ import annotations

import math


def clean(text: str) -> str:
    """Replaces control characters by '?': names come from untrusted models and could
    hold terminal escapes."""
    if text.isprintable():
        return text
    return "".join("?" if _is_control(char) else char for char in text)


def _is_control(char: str) -> bool:
    point = ord(char)
    # ASCII and C1 controls, surrogates, and marks that change the text direction.
    return (point < 0x20 or 0x7F <= point < 0xA0 or 0xD800 <= point < 0xE000
            or 0x202A <= point <= 0x202E or 0x2066 <= point <= 0x2069
            or point in (0x2028, 0x2029))


def group_digits(value: int) -> str:
    """1 234 567."""
    return f"{value:,}".replace(",", " ")


def signed(value: int) -> str:
    """+1 234."""
    return f"{value:+,}".replace(",", " ")


def format_bytes(value: int) -> str:
    """57.0 KiB."""
    if value < 1024:
        return f"{value} B"
    amount = value / 1024
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1023.95:
            return f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} PiB"


def format_percent(share: float, digits: int = 2) -> str:
    """61.0 % for 0.61."""
    return f"{share * 100:.{digits}f} %" if math.isfinite(share) else "-"


def format_latency(milliseconds: float) -> str:
    """0.3576 ms; seconds from ten on."""
    if milliseconds < 1e4:
        return f"{milliseconds:.4g} ms"
    return f"{milliseconds / 1e3:.4g} s"


def format_seconds(seconds: float) -> str:
    """As the command line shows --timeout."""
    if not math.isfinite(seconds):
        return "-"
    if seconds < 0.1:
        return f"{seconds * 1e3:.1f} ms"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def clip_middle(text: str, width: int) -> str:
    """Shortens `text` in the middle: names differ more often at their ends."""
    if len(text) <= width:
        return text
    tail = (width - 3) // 2
    return f"{text[:width - 3 - tail]}...{text[len(text) - tail:]}"


def table(header: list[str], rows: list[list[str]], left: set[int]) -> list[str]:
    """Lines of columns; those in `left` are aligned left, the others right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, *rows]:
        cells = [cell.ljust(widths[i]) if i in left else cell.rjust(widths[i])
                 for i, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return lines
