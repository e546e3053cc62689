"""The history of each node."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "nodeseries.sql"


class Migration(migrations.Migration):
    dependencies = [("statestore", "0019_starvation")]
    operations = [migrations.RunSQL(SCHEMA.read_text(), "DROP TABLE statestore_nodeseries")]
