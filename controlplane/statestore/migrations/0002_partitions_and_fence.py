from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "schema.sql"
DROP = """
DROP FUNCTION statestore_fence;
DROP TABLE statestore_container, statestore_container_history, statestore_task, statestore_round, statestore_log_chunk;
"""


class Migration(migrations.Migration):
    dependencies = [("statestore", "0001_initial")]
    operations = [migrations.RunSQL(SCHEMA.read_text(), DROP)]
