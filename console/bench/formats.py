"""A report as Markdown, HTML, LaTeX, CSV or JSON. Every text is escaped for its format; nothing is fetched."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Sequence

from console.bench.figures import Figure
from console.bench.report import Report, Section, Table
from console.bench.store import Run, run_json
from console.values import known

Draw = Callable[[Figure], str]

STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}"
    "th,td{border-bottom:1px solid #8884;padding:.25rem .6rem;text-align:right}"
    "th:first-child,td:first-child,td:last-child,th:last-child{text-align:left}"
    "@media print{table{display:table;width:100%;font-size:.55rem}th,td{padding:.1rem .2rem}}"
    "svg{max-width:100%;height:auto}pre{overflow-x:auto;background:#8881;padding:.6rem}"
)


def markdown(report: Report) -> str:
    lines = [f"# {_md(report.title)}", ""]
    for section in report.sections:
        lines += [f"## {_md(section.title)}", ""]
        lines += [f"- {_md(sentence)}" for sentence in section.sentences] + [""] * bool(section.sentences)
        for table in section.tables:
            lines += _md_table(table)
        for figure in section.figures:
            lines += _md_table(_figure_table(figure))
        lines += [line for command in section.commands for line in ("```", command.replace("```", "'''"), "```", "")]
    return "\n".join(lines).rstrip() + "\n"


def _md(text: str) -> str:
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, "\\" + mark)
    return text


def _md_table(table: Table) -> list[str]:
    lines = [f"**{_md(table.title)}**", ""] if table.title else []
    lines.append("| " + " | ".join(map(_md, table.head)) + " |")
    lines.append("|" + "---|" * len(table.head))
    lines += ["| " + " | ".join(map(_md, row)) + " |" for row in table.rows]
    return [*lines, ""]


def _figure_table(figure: Figure) -> Table:
    """A figure as numbers, where no picture can be."""
    lines = [line for line in figure.lines if not line.guide]
    rows = []
    for x in sorted({x for line in lines for x in line.xs}):
        cells = [next((y for at, y in zip(line.xs, line.ys, strict=True) if at == x), None) for line in lines]
        rows.append((f"{x:g}", *("–" if y is None else f"{y:.4g}" for y in cells)))
    return Table(figure.title, (figure.x_label, *(line.name for line in lines)), tuple(rows))


def web_page(report: Report, draw: Draw) -> str:
    """Self-contained HTML; `draw` makes SVG of a figure."""
    title = html.escape(report.title)
    body = "".join(_web_section(section, draw) for section in report.sections)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n'
        f"<body><h1>{title}</h1>\n{body}</body></html>\n"
    )


def _web_section(section: Section, draw: Draw) -> str:
    parts = [f"<h2>{html.escape(section.title)}</h2>\n"]
    if section.sentences:
        parts.append("<ul>" + "".join(f"<li>{html.escape(s)}</li>" for s in section.sentences) + "</ul>\n")
    parts += [_web_table(table) for table in section.tables]
    parts += [f"<figure>{draw(figure)}</figure>\n" for figure in section.figures]
    parts += [f"<pre>{html.escape(command)}</pre>\n" for command in section.commands]
    return "".join(parts)


def _web_table(table: Table) -> str:
    caption = f"<caption>{html.escape(table.title)}</caption>" if table.title else ""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>\n"


_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "×": r"$\times$", "–": "--", "…": r"\dots{}",
    "≈": r"$\approx$", "→": r"$\to$", "<": r"\textless{}", ">": r"\textgreater{}", '"': "''", "‘": "`", "’": "'",
}  # fmt: skip


def tex(text: str) -> str:
    """For pdflatex with its own fonts: what they do not hold becomes a question mark."""
    return "".join(_TEX.get(c, c if " " <= c <= "~" or c in "äöüßÄÖÜéèêáàâñç" else "?") for c in text)


def latex(report: Report) -> str:
    """A standalone document: article, longtable; figures as tables of their points."""
    lines = [
        r"\documentclass[10pt]{article}",
        r"\usepackage[utf8]{inputenc}",
        r"\usepackage[T1]{fontenc}",
        r"\usepackage[a4paper,landscape,margin=15mm]{geometry}",
        r"\usepackage{longtable}",
        r"\setlength{\tabcolsep}{4pt}",
        r"\begin{document}",
        rf"\section*{{{tex(report.title)}}}",
    ]
    for section in report.sections:
        lines.append(rf"\subsection*{{{tex(section.title)}}}")
        if section.sentences:
            lines += [r"\begin{itemize}", *(rf"\item {tex(s)}" for s in section.sentences), r"\end{itemize}"]
        for table in (*section.tables, *map(_figure_table, section.figures)):
            lines += _tex_table(table)
        lines += [rf"\noindent\texttt{{{tex(command)}}}\par" for command in section.commands]
    return "\n".join([*lines, r"\end{document}", ""])


def _tex_table(table: Table) -> list[str]:
    width = 0.97 / len(table.head)
    columns = "".join([rf"p{{{width:.3f}\linewidth}}"] * len(table.head))
    rows = [" & ".join(map(tex, row)) + r" \\" for row in table.rows]
    title = [rf"\noindent\textbf{{{tex(table.title)}}}"] if table.title else []
    head = " & ".join(rf"\textbf{{{tex(cell)}}}" for cell in table.head)
    start = [r"{\footnotesize\setlength{\tabcolsep}{2pt}", rf"\begin{{longtable}}{{{columns}}}"]
    return [*title, *start, rf"{head} \\ \hline", *rows, r"\end{longtable}}"]


CSV_FIELDS = (
    "concurrency", "rate", "variant", "repeat", "window_s", "requests", "failed", "output_tok_s", "total_tok_s",
    "tok_s_gpu", "user_tok_s", "request_s", "concurrency_mean", "peak_tok_s", "accept_length", "accept_ratio",
    "goodput_req_s", "attainment_ratio", "energy_j_tok",
)  # fmt: skip
CSV_LEVELS = (
    "ttft_ms", "ttfo_ms", "tpot_ms", "itl_ms", "icl_ms", "e2e_ms", "queued_ttft_ms", "queued_e2e_ms",
)  # fmt: skip


def table_csv(runs: Sequence[Run]) -> str:
    """One row a point; an unknown is an empty cell. No text is a formula to a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    levels = [(name, level) for name in CSV_LEVELS for level in ("p50", "p95", "p99")]
    writer.writerow(["run", "recipe", *CSV_FIELDS, *(f"{name}_{level}" for name, level in levels), "flags"])
    for run in runs:
        for point in run.points:
            row = [getattr(point, name) for name in CSV_FIELDS]
            row += [getattr(getattr(point, name), level) for name, level in levels]
            cells = [value if known(value) else "" for value in (run.id, run.manifest.recipe, *row)]
            writer.writerow([*map(_cell, cells), " ".join(point.flags)])
    return out.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def document_json(runs: Sequence[Run], stamp: str) -> str:
    """`gpudeck.run/1` of one run, or of several in `runs`."""
    bodies = [run_json(run) for run in runs]
    head = {"schema": "gpudeck.run/1", "ts": stamp}
    whole = {**head, **bodies[0]} if len(bodies) == 1 else {**head, "runs": bodies}
    return json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
