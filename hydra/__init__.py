"""What programs that run in Hydra's containers import. The standard library is all it needs.

``hydra.am``: to be a job's application master. ``hydractl`` and the SDK put
this package beside the master of every application they submit.
"""
