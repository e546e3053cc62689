"""One RM per sub-cluster: admits jobs, runs scheduling rounds, tells nodes what to run.

``leader`` is the loop, ``round`` the round driver with its three ports
(``ports``), ``memory`` the warm snapshot it keeps. Only ``store``, ``bus`` and
``tasks`` know Postgres, Redis and Celery; everything else runs as well in the
simulator.
"""
