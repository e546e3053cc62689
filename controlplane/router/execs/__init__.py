"""People's commands in containers: web passes frames on between the sockets of person and node, which both come to it.

The two may come to different web processes: frames go over Redis' channels, and what is on its way is bounded by the
windows of ``wire.execs``.
"""
