"""The whole fleet for screens: a picture of every node that this process keeps, and what changed since an earlier look.

Everybody who is signed in may see nodes. What runs on them is shown whole to
those who see everything, who share one picture; each tenant has one with its
own containers alone. A look costs some array operations per sub-cluster; rows
are read again only where one has changed.
"""

import base64
import itertools
import json
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field, replace

import numpy as np

from controlplane import clock
from controlplane.accounts.models import User
from controlplane.accounts.rights import sees_everything
from controlplane.statestore import bus
from controlplane.statestore.models import Intent, SubCluster
from controlplane.statestore.nodeloads import NodeLoads

from . import fleetrows, maintenance, veil
from .fleetrows import COLUMNS, STANDINGS, WHOLE, Nodes

OWN_MAX = 64  # accounts whose pictures are kept
FRESH_S = 0.5  # looks closer together than this share one
_lines = itertools.count(1)


@dataclass(frozen=True, slots=True)
class FleetPart:
    """One sub-cluster at one look. since: the look at which its nodes last became others or changed what they are.

    columns: see ``fleetrows.columns``. changed: (n,) the look at which each node's numbers last changed.
    """

    name: str
    state: str
    revision: tuple[int, int]
    nodes: Nodes
    since: int
    columns: dict[str, np.ndarray]
    changed: np.ndarray

    def moved(self, look: int) -> bool:
        """Whether anything is different since that look."""
        return self.since > look or bool((self.changed > look).any())


@dataclass(frozen=True, slots=True)
class Fleet:
    """All sub-clusters that have not left for good, by number. look: counts up with every look of this process.

    listed: the look at which the list of sub-clusters or a state of one last changed.
    line: of which looks are counted together. own: only one account's containers are in it.
    """

    line: int
    look: int
    at: float
    parts: dict[int, FleetPart]
    listed: int = 0
    own: bool = False
    _told: dict[int, str | None] = field(default_factory=dict)

    def whole(self) -> str:
        """JSON text of everything."""
        return self.after(-1) or ""

    def after(self, look: int) -> str | None:
        """JSON text of what has changed after an earlier look, ``None`` when nothing has; made once for all who ask."""
        if look not in self._told:
            moved = self.listed > look or any(part.moved(look) for part in self.parts.values())
            self._told[look] = self._text(look) if moved or look < 0 else None
        return self._told[look]

    def _text(self, look: int) -> str:
        head = {"at": round(self.at, 1), "whole": WHOLE, "standings": STANDINGS, "own": self.own}
        parts = ",".join(_part(part, look) for part in self.parts.values())
        return f'{json.dumps(head, separators=(",", ":"))[:-1]},"sub_clusters":[{parts}]}}'


def _part(part: FleetPart, look: int) -> str:
    """One sub-cluster's JSON: what it is if that changed after the look, and the numbers of the nodes that did."""
    head = json.dumps({"name": part.name, "state": part.state}, separators=(",", ":"))[:-1]
    if part.since > look:
        return f'{head},{part.nodes.told},"columns":{_columns(part, None)}}}'
    rows = np.flatnonzero(part.changed > look)
    if not len(rows):
        return head + "}"
    if 2 * len(rows) > len(part.changed):  # all of them is shorter than saying which
        return f'{head},"columns":{_columns(part, None)}}}'
    return f'{head},"rows":"{_base64(rows.astype("<u4"))}","columns":{_columns(part, rows)}}}'


def _columns(part: FleetPart, rows: np.ndarray | None) -> str:
    found = (f'"{name}":"{_base64(of if rows is None else of[rows])}"' for name, of in part.columns.items())
    return "{" + ",".join(found) + "}"


def _base64(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode()


class Board:
    """The picture and how it is renewed. May be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = Fleet(next(_lines), 0, 0.0, {})
        self._looked = float("-inf")

    def look(self) -> Fleet:
        """The fleet as of now, or as of a moment ago."""
        with self._lock:
            if time.monotonic() - self._looked >= FRESH_S:
                self._last = self._renewed(self._last)
                self._looked = time.monotonic()
            return self._last

    def _renewed(self, last: Fleet) -> Fleet:
        raise NotImplementedError


class WholeBoard(Board):
    """Of everything."""

    def __init__(self) -> None:
        super().__init__()
        self._loads: dict[int, NodeLoads] = {}  # the last that was heard: a silent RM's nodes grow old

    def _renewed(self, last: Fleet) -> Fleet:
        """At most five queries, one of them over nodes only if a row of one has changed."""
        now = clock.now()
        subs = list(SubCluster.objects.exclude(state=SubCluster.State.DECOMMISSIONED))
        subs.sort(key=lambda s: fleetrows.natural(s.name))
        revisions = fleetrows.revisions()
        old = {n: part for n, part in last.parts.items() if part.revision == revisions.get(n, (0, 0))}
        fresh = [s.pk for s in subs if s.pk not in old]
        nodes = {n: part.nodes for n, part in old.items()} | (fleetrows.read(fresh) if fresh else {})
        windows = maintenance.windows(s.pk for s in subs)
        untold = set(Intent.objects.filter(kind=Intent.Kind.NODE).values_list("node_id", flat=True))
        self._loads |= bus.node_loads(s.pk for s in subs)
        parts = {}
        for s in subs:
            moving = fleetrows.columns(nodes[s.pk], s, windows[s.pk], self._loads.get(s.pk), untold, now)
            revision = revisions.get(s.pk, (0, 0))
            parts[s.pk] = FleetPart(s.name, s.state, revision, nodes[s.pk], 0, moving, np.empty(0))
        return _after(last, now.timestamp(), parts, own=False)


class OwnBoard(Board):
    """Of the nodes, and one account's own containers on them."""

    def __init__(self, user: User) -> None:
        super().__init__()
        self._user = user

    def _renewed(self, last: Fleet) -> Fleet:
        """One query more than the whole."""
        whole, own = board.look(), veil.on_nodes(self._user)
        parts = {
            n: replace(part, columns=fleetrows.own_columns(part.nodes, part.columns, own))
            for n, part in whole.parts.items()
        }
        return _after(last, whole.at, parts, own=True)


def _after(last: Fleet, at: float, parts: dict[int, FleetPart], own: bool) -> Fleet:
    """The look after the last one."""
    look = last.look + 1
    compared = {n: _compared(last.parts.get(n), part, look) for n, part in parts.items()}
    listed = look if _list(parts) != _list(last.parts) else last.listed
    return Fleet(last.line, look, at, compared, listed, own)


def _list(parts: dict[int, FleetPart]) -> list[tuple[int, str, str]]:
    return [(number, part.name, part.state) for number, part in parts.items()]


def _compared(before: FleetPart | None, new: FleetPart, look: int) -> FleetPart:
    """The part with the looks at which it changed."""
    if before is None or before.nodes.told != new.nodes.told:
        return replace(new, since=look, changed=np.full(len(new.nodes.id), look))
    moved = np.zeros(len(before.changed), np.bool_)
    for name in COLUMNS:
        moved |= before.columns[name] != new.columns[name]
    changed = np.where(moved, look, before.changed) if moved.any() else before.changed
    return replace(new, since=before.since, changed=changed)


board = WholeBoard()
_own: OrderedDict[int, OwnBoard] = OrderedDict()  # by account, the one that was asked for last at the end
_own_lock = threading.Lock()


def look(user: User) -> Fleet:
    """The fleet as the account may see it."""
    if sees_everything(user):
        return board.look()
    with _own_lock:
        mine = _own.setdefault(user.pk, OwnBoard(user))
        _own.move_to_end(user.pk)
        while len(_own) > OWN_MAX:
            _own.popitem(last=False)
    return mine.look()
