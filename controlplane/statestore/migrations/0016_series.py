"""History over time, rolled up."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "series.sql"
DROP = """
DROP INDEX audit_of_sub_clusters, history_preempted;
DROP AGGREGATE statestore_sketch_sum(bigint[]);
DROP FUNCTION statestore_sketch_add;
DROP TABLE statestore_series, statestore_seriesmark, statestore_serieshead, statestore_seriesscope;
"""


class Migration(migrations.Migration):
    dependencies = [("statestore", "0015_silence")]
    operations = [migrations.RunSQL(SCHEMA.read_text(), DROP)]
