"""The tracking proxy: a job's own pages, reached through web under the rights of whoever looks.

What runs in a container is its tenant's and not to be trusted, and browsers
see it under our address. So its pages are sandboxed into an origin of their
own (``headers``), get no cookie of ours, and a page is reached by a ticket in
its path (``tickets``), because a sandboxed page's requests carry no cookies.
Requests go only where a node said its live container serves (``access``).
"""

PREFIX = "/proxy/"
