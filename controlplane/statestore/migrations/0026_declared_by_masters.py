"""What jobs with their own master declare counts where their home has not counted it yet."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "declared.sql"


class Migration(migrations.Migration):
    dependencies = [("statestore", "0025_nodes_without_extended")]
    operations = [migrations.RunSQL(SCHEMA.read_text(), migrations.RunSQL.noop)]
