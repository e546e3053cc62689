"""A sub-cluster whose counts are not in the ledger is granted nothing more."""

from pathlib import Path

from django.db import migrations

SCHEMA = Path(__file__).parent.parent / "claiming.sql"


class Migration(migrations.Migration):
    dependencies = [("statestore", "0050_usage_without_a_tag")]
    operations = [migrations.RunSQL(SCHEMA.read_text(), migrations.RunSQL.noop)]
