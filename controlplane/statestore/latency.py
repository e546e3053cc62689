"""Whose wait is counted from the submit: a task's that could have started at once."""

# Of a job ``j`` and a group ``k.group_no`` of it: it waits for no other group, no application master asked for it
# later, and nobody has given the service another number of tasks or another revision since. Also ``rm.steps.outcome``.
SINCE_SUBMIT = """(coalesce(jsonb_array_length(j.spec->'groups'->k.group_no::int->'after'), 0) = 0
        AND (j.kind <> 'application' OR k.group_no = 0)
        AND coalesce((j.services->(k.group_no::text)->>'asked_us')::bigint, 0) = 0
        AND coalesce((j.services->>'revision')::int, 1) = 1)"""
