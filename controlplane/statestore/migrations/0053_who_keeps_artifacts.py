"""What an account keeps of artifacts is what it has rows for: also its tasks' outputs, and files of its live jobs."""

from django.db import migrations

from wire.states import JobState

# What operators named in their jobs and schedules without having uploaded it was nobody's but by that.
KEPT = f"""
INSERT INTO statestore_artifactowner (artifact_id, owner_id, size)
WITH live AS MATERIALIZED (SELECT id, owner_id, spec, revisions FROM statestore_job WHERE state < {JobState.SUCCEEDED:d})
SELECT a.digest, named.owner_id, a.size FROM (
          SELECT j.owner_id, o.digest FROM statestore_taskoutput o JOIN statestore_job j ON j.id = o.job_id
    UNION SELECT owner_id, jsonb_path_query(spec, '$.files[*].digest') #>> '{{}}' FROM live
    UNION SELECT owner_id, jsonb_path_query(spec, '$.groups[*].files[*].digest') #>> '{{}}' FROM live
    UNION SELECT owner_id, jsonb_path_query(revisions, '$[*].spec.files[*].digest') #>> '{{}}' FROM live
    UNION SELECT owner_id, jsonb_path_query(revisions, '$[*].spec.groups[*].files[*].digest') #>> '{{}}' FROM live
    UNION SELECT owner_id, jsonb_path_query(m.spec, '$.files[*].digest') #>> '{{}}'
            FROM statestore_masterask m JOIN live ON live.id = m.job_id
    UNION SELECT owner_id, jsonb_path_query(m.spec, '$.files[*].digest') #>> '{{}}'
            FROM statestore_masterlaunch m JOIN live ON live.id = m.job_id
    UNION SELECT owner_id, jsonb_array_elements_text(digests) FROM statestore_schedule) named
  JOIN statestore_artifact a ON a.digest = named.digest FOR KEY SHARE OF a
    ON CONFLICT (artifact_id, owner_id) DO UPDATE SET size = excluded.size;
UPDATE statestore_artifactowner o SET size = a.size FROM statestore_artifact a
 WHERE a.digest = o.artifact_id AND o.size <> a.size;
"""


class Migration(migrations.Migration):
    dependencies = [("statestore", "0052_sizes_of_what_is_kept")]
    operations = [migrations.RunSQL(KEPT, migrations.RunSQL.noop)]
