"""The policy document: how the whole cluster behaves. ``document`` is its shape, ``rules`` what fields keep to.

``docs/operators.md`` is the reference. What a document comes to (rows of queues, what differs from another one) is
worked out by ``controlplane.policy``; the code behind the names that can be chosen is in ``scheduler.registry`` and
``controlplane.sharing.divide``.
"""
