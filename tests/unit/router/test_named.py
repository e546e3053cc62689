"""Names in jobs that cannot be read as a whole."""

from controlplane.router import named


def test_only_what_could_be_a_name_is_one_and_of_very_many_few_are_looked_at() -> None:
    odd = [0, None, "text", {"name": 5}, {"name": "a b"}, {"name": "a" * 64}, {}]
    job = {
        "groups": ["no group", {"secrets": [*odd, {"name": "db"}]}, {"secrets": 7}],
        "master": {"secrets": [{"name": "x"}]},
    }
    assert named.secrets_in(job) == [("groups.1.secrets.7.name", "db"), ("master.secrets.0.name", "x")]
    assert named.receivers_in({"notify": [{"receiver": "CI_Bot"}, {"receiver": "ci"}]}) == [("notify.1.receiver", "ci")]
    many = {"notify": [{"receiver": f"r{n}"} for n in range(100_000)], "groups": 3}
    assert len(named.receivers_in(many)) == named.MOST and named.secrets_in(many) == []
    assert named.receivers_in({"notify": [0] * named.LOOKED_AT + [{"receiver": "late"}]}) == []
