"""One RM per sub-cluster: admits jobs, runs scheduling rounds, tells nodes what to run.

Its rooms, each using only those below: ``tasks`` (what Celery starts), ``driver``, ``steps``, ``reasons``, ``memory``,
``codec``, and the seam (``ports``, ``changes``). ``adapters`` stand beside the driver: they alone know Postgres and
Redis, so that everything else runs as well in the simulator.
"""
