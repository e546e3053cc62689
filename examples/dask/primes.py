"""Counts primes on a Dask cluster that grows while there is work. In a clone: pip install '.[dask]', log in
with hydractl, then: python primes.py

The Python of the containers needs the same version of ``distributed`` as yours: see ``python=`` and ``env=`` in the
tenants' guide.
"""

from dask.distributed import Client as DaskClient

from client.dask import HydraCluster

PIECE = 50_000


def primes(first: int) -> int:
    """How many primes there are from ``first`` on, in a piece."""

    def prime(n: int) -> bool:
        return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))

    return sum(prime(n) for n in range(first, first + PIECE))


if __name__ == "__main__":
    with HydraCluster(name="primes", memory_mib=512, vcores_milli=500) as cluster, DaskClient(cluster) as dask:
        cluster.adapt(minimum=0, maximum=4)
        print(f"job {cluster.job_id}, its scheduler's pages: {cluster.dashboard_link}")
        found = dask.submit(sum, dask.map(primes, range(0, 1_000_000, PIECE))).result()
        print(f"there are {found} primes below a million")
