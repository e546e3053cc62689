"""What a drain changes, as a section of the report's page."""

from collections.abc import Sequence
from typing import Any

from simulator.report import words
from simulator.report.page import empty, section, table
from simulator.report.svg import text
from wire.counts import counted, mean, mean_of

Json = dict[str, Any]


def section_of(found: Json) -> str:
    """Sentences, and tables of queues, jobs and groups. found: as ``drained.of`` gives it."""
    lines = "".join(f"<li>{text(line)}</li>" for line in sentences(found))
    queues = [(q["queue"], mean(q["jobs"]), mean(q["containers"]), _seconds(q["wait_s"])) for q in found["queues"]]
    live = [
        (f"{j['job']} {j['name']}", j["owner"], j["queue"], mean(j["containers"]),
         _seconds(j["wait_s"]) + (" or more" if j["open"] else ""))
        for j in found["live"]
    ]  # fmt: skip
    never = [
        (f"{g['job']} {g['name']}", g["group"], g["owner"], g["queue"], mean(g["containers"]), g["why"])
        for g in found["never"]
    ]
    stuck = ("Job", "Group", "Owner", "Queue", "Containers", "Because")
    parts = (
        f"<ul>{lines}</ul>",
        _table("Queues that wait longer", ("Queue", "Jobs", "Containers", "Longer by"), queues),
        _table("Live jobs that wait longer", ("Job", "Owner", "Queue", "Containers", "Longer by"), live),
        _table("What could start nowhere else", stuck, never),
    )
    return section("The drain", "".join(parts))


def sentences(found: Json) -> list[str]:
    """The answer in words."""
    name = found["sub_cluster"]
    new, longer = _counted(found, "containers", "jobs"), _counted(found, "longer_containers", "longer_jobs")
    empty_s, running = found["empty_s"]["value"], counted(found["running"], "container runs", "containers run")
    lines = [
        f"{new} would wait for more than {found['waits_s']:g} s and would not otherwise.",
        f"{longer} would wait longer than otherwise.",
        f"On average all of these would wait {_seconds(found['wait_mean_s']['value'])} longer.",
        f"{running} in {name} now; {found['services']:,} of them are of services and leave.",
    ]
    if empty_s is not None:
        lines.append(f"{name} would be empty after {_seconds(empty_s)}.")
    else:
        left = mean_of(found["left"], "container")
        lines.append(f"{name} would not be empty within {_seconds(found['seen_s'])}: {left} would be left.")
    if found["deadline_s"] is not None:
        lines.append(
            f"What still runs there after {_seconds(found['deadline_s'])} would be stopped and begin elsewhere: "
            f"{found['lost_core_hours']['value']:,.2f} core hours of work would be lost."
        )
    if found["total_never"] or found["never_forecast"]:
        lines.append(
            f"{counted(found['total_never'], 'task group')} of {counted(found['never_jobs'], 'live job')} could start "
            f"nowhere else, and neither could {found['never_forecast']:,} of the jobs that are taken to come."
        )
    return lines


def _table(caption: str, heads: Sequence[str], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return empty(f"{caption}: none.")
    head = "".join(f'<th scope="col">{text(each)}</th>' for each in heads)
    cells = ("".join(f"<td>{text(words.clean(cell))}</td>" for cell in row) for row in rows)
    return table(caption, head, (f"<tr>{row}</tr>" for row in cells))


def _counted(found: Json, containers: str, jobs: str) -> str:
    return f"{mean_of(found[containers]['value'], 'container')} of {mean_of(found[jobs]['value'], 'job')}"


def _seconds(amount: float | None) -> str:
    return "-" if amount is None else f"{amount:,.1f} s" if amount < 120 else f"{amount / 60:,.0f} min"
