"""Every Redis key and channel name, spelt once.

Per sub-cluster ``s`` and node ``n`` (numbers of their StateStore rows). A node
may read its desired document, templates and the policy version, write its
status and mark itself dirty, and listen to its own channel and to that of
policy versions; ``acl_rules`` says so to Redis.
"""


def status(s: int, n: int) -> str:
    """The node's status (``wire.status``), replaced at every heartbeat. Writer: the node."""
    return f"st:{s}:{n}"


def desired(s: int, n: int) -> str:
    """The node's desired document (``wire.desired``). Writer: the sub-cluster's RM."""
    return f"ds:{s}:{n}"


def template(s: int, digest_hex: str) -> str:
    """A task group's container template (``wire.template``), content-addressed. Writer: the RM."""
    return f"tp:{s}:{digest_hex}"


def dirty(s: int) -> str:
    """Sorted set: numbers of nodes with news, ``INTENTS`` and ``SHARES``. The RM blocks on it."""
    return f"dirty:{s}"


INTENTS = "@"  # member of ``dirty`` that says: read the intent table
SHARES = "%"  # and this one: read the share assignment


def leader_epoch(s: int) -> str:
    """Highest epoch that has published in this sub-cluster; publishing scripts refuse a lower one."""
    return f"ep:{s}"


def wake_channel(s: int, n: int) -> str:
    """Channel: the node's desired document changed, or, where ``EXECS`` is said, somebody waits for it. A hint only."""
    return f"nd:{s}:{n}"


EXECS = b"x"  # on a node's wake channel: ask web for whom to run a command in a container


def policy(s: int) -> str:
    """The policy version the sub-cluster runs (``wire.policy``), for its nodes. Writer: the RM."""
    return f"pv:{s}"


def policy_wake(s: int) -> str:
    """Channel: what ``policy`` says from now on. A hint only; nodes also read the key at every heartbeat."""
    return f"pw:{s}"


def policy_channel() -> str:
    """Channel: a policy version was put in force. A hint only, for web processes and the GPG."""
    return "policy"


def masters() -> str:
    """Channel: numbers of jobs whose application masters have something to hear. A hint only, for web processes."""
    return "am"


def exec_to_person(number: int) -> str:
    """Channel: frames (``wire.execs``) from the node of an exec; the web process that has the person listens."""
    return f"ex:{number}:p"


def exec_to_node(number: int) -> str:
    """Channel: frames for the node of an exec; the web process that has the node listens."""
    return f"ex:{number}:n"


def probe(s: int) -> str:
    """What the RM writes to learn whether Redis takes writes at all. Expires."""
    return f"pr:{s}"


def summary(s: int) -> str:
    """JSON snapshot of a sub-cluster's load for screens. Writer: the RM. Expires."""
    return f"sum:{s}"


def nodes(s: int) -> str:
    """What the RM knows of each of its nodes, for screens, in packed columns. Writer: the RM. Expires."""
    return f"sn:{s}"


def usage(s: int) -> str:
    """Hash: container number -> packed last usage sample, for screens. Writer: the RM. Expires."""
    return f"us:{s}"


def component(kind: str, name: str) -> str:
    """Hash with expiry: liveness report of one process (``web``, ``rm``, ``worker``, ``beat``)."""
    return f"cp:{kind}:{name}"


def components() -> str:
    """Sorted set: ``kind:name`` of each process that has reported, by Unix time; silent ones leave after an hour."""
    return "cps"


def acl_user(n: int) -> str:
    return f"node-{n}"


def acl_rules(s: int, n: int, password_sha256_hex: str) -> list[str]:
    """``ACL SETUSER`` rules for node ``n``: its own keys and channel, nothing else.

    What it shares with others, the dirty set, it can add to only: that is a selector of its own.
    """
    return [
        "reset",
        "on",
        f"#{password_sha256_hex}",
        f"%R~{desired(s, n)}",
        f"%R~{template(s, '*')}",
        f"%R~{policy(s)}",
        f"%W~{status(s, n)}",
        f"&{wake_channel(s, n)}",
        f"&{policy_wake(s)}",
        "-@all",
        "+get",
        "+mget",
        "+set",
        "+subscribe",
        "+unsubscribe",
        "+ping",
        "+hello",
        "+client|setinfo",
        "+client|setname",
        f"(%W~{dirty(s)} -@all +zadd)",
    ]
